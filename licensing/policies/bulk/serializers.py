"""Serializers of POST /v1/policies/bulk."""

from rest_framework import serializers

from kit.rest.bulk import ALONE, STATUSES, ErrorShown, IndexedSerializer, RowsField
from kit.rest.fields import Id, Text
from kit.rest.serializers import StrictSerializer
from licensing.policies.serializers import PolicySerializer


class PolicyBulkRowSerializer(PolicySerializer):
    """A policy to create, or changes to the one named by `id` or `externalId`."""

    id = Id("pol", required=False, allow_null=True, help_text="The policy to change, as by PATCH.")
    name = Text(max_length=255, required=False, help_text="Required when creating a policy.")

    never_null = frozenset({"name"})


class PolicyBulkSerializer(StrictSerializer):
    """Policies to create or change."""

    items = RowsField(child=PolicyBulkRowSerializer())


class PolicyBulkOutcomeSerializer(IndexedSerializer):
    """The outcome of a row."""

    status = serializers.ChoiceField(
        choices=STATUSES,
        help_text="`201` created, `200` changed or already so, `422` a fault of the row or a failing test, `409` a "
        "policy that an earlier row is about, or an `externalId` that another policy has.",
    )
    policy = PolicySerializer(allow_null=True, help_text="Null if the row has an error.")
    error = ErrorShown(allow_null=True, help_text=ALONE)
