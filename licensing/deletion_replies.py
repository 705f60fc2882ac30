"""Replies to DELETE requests."""

from django.db.models import Model
from rest_framework import serializers
from rest_framework.response import Response

from kit.rest.fields import Choice


class DeletedSerializer(serializers.Serializer):
    id = serializers.CharField()
    object = Choice(choices=["content", "policy", "site"])
    deleted = serializers.BooleanField(help_text="Always true.")


class ErasedSerializer(DeletedSerializer):
    object = Choice(choices=["requester"])
    pseudonym = serializers.CharField(help_text="The id under which decisions, totals and the ledger remain.")


def deletion_response(resource: Model, kind: str) -> Response:
    return Response({"id": resource.pk, "object": kind, "deleted": True})
