"""Serializers of requesters."""

from rest_framework import serializers

from kit.rest.fields import Choice, Email, Text, Timestamp
from kit.rest.metadata import FreeMetadata
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered
from licensing.requesters.models import Requester

MAX_NOTES = 5_000


class RequesterStatsSerializer(serializers.Serializer):
    """Counts of the requester's decisions."""

    allowed = serializers.IntegerField(min_value=0)
    denied = serializers.IntegerField(min_value=0)
    lastSeenAt = Timestamp(allow_null=True, help_text="Time of the latest decision; null if there is none.")


class RequesterProfileSerializer(RowSerializer):
    """Whoever decisions are about: a customer, an organisation, a reader or a crawler, by your own id."""

    id = Text(max_length=255, source="requester_id", help_text="Your own id. It cannot be changed.")
    object = Choice(choices=["requester"], read_only=True)
    name = Text(max_length=255, required=False, allow_null=True)
    email = Email(required=False, allow_null=True, help_text="Contact address. Nothing is sent to it.")
    notes = Text(max_length=MAX_NOTES, required=False, allow_null=True, help_text="For people. Decisions ignore it.")
    metadata = FreeMetadata(required=False, allow_null=True)
    mergedInto = Text(read_only=True, help_text="The requester that it was merged into, if any.")
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True, allow_null=True, help_text="Null until the first change.")
    stats = RequesterStatsSerializer(read_only=True, help_text="Only in replies about a single requester.")

    sometimes = beside_row = frozenset({"mergedInto", "stats"})
    growing = beside_state = frozenset({"stats"})

    attributes = {"id": "requester_id"}

    def to_representation(self, requester: Requester) -> Rendered:
        body = super().to_representation(requester)
        if requester.merged_into is not None:
            body["mergedInto"] = requester.merged_into.requester_id
        return body | ({"stats": self.context["stats"]} if "stats" in self.context else {})


class MergeSerializer(StrictSerializer):
    """The requester to merge into."""

    into = Text(max_length=255, help_text="The requester that receives all records.")


class RequesterProfileChangeSerializer(RequesterProfileSerializer):
    """Changes of a requester. An `id` in the body is ignored."""

    id = Text(read_only=True, source="requester_id")
