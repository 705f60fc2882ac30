"""Serializers for licence clients."""

from rest_framework import serializers

from accounts.keys.services import MAX_OVERLAP_SECONDS
from kit.rest.fields import Choice, Id, Integer, Text, Timestamp
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer


class LicenseClientSerializer(RowSerializer):
    """A requester's credentials at the licence server; `id` is the client_id."""

    id = Id("cli", read_only=True, help_text="The client_id.")
    object = Choice(choices=["license_client"], read_only=True)
    requesterId = Text(
        max_length=255, source="requester_id", help_text="The requester whose licences the tokens represent."
    )
    requesterName = Text(
        max_length=255,
        required=False,
        allow_null=True,
        source="requester_name",
        help_text="The requester's name. Given here, it names a requester that has none, and changes no name.",
    )
    name = Text(max_length=255, required=False, help_text="A label for people; by default the requester's id.")
    prefix = serializers.CharField(read_only=True, help_text="The beginning of the secret, to recognise it by.")
    formerSecretUntil = Timestamp(
        read_only=True, allow_null=True, help_text="Until when the previous secret works too."
    )
    revokedAt = Timestamp(read_only=True, allow_null=True)
    lastUsedAt = Timestamp(read_only=True, allow_null=True, help_text="To the minute; null before the first use.")
    created = Timestamp(read_only=True)

    owned = frozenset({"secret"})  # a field of the subclass
    beside_state = frozenset({"lastUsedAt"})

    attributes = {
        "requesterId": "requester.requester_id",
        "requesterName": "requester.name",
        "formerSecretUntil": "former_until",
    }


class LicenseClientWithSecretSerializer(LicenseClientSerializer):
    secret = serializers.CharField(read_only=True, help_text="The client_secret. Shown only in this reply.")


class SecretRotationSerializer(StrictSerializer):
    """The body of a secret rotation."""

    overlapSeconds = Integer(
        min_value=0,
        max_value=MAX_OVERLAP_SECONDS,
        required=False,
        source="overlap_seconds",
        help_text="How long the old secret keeps working. Default: 0.",
    )
