"""API keys in the API."""

from datetime import datetime
from ipaddress import ip_network
from typing import ClassVar, Unpack

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.keys.bounds import MAX_REQUESTS, PERIODS
from accounts.keys.models import ApiKey, KeyType
from accounts.keys.permissions import PERMISSIONS
from accounts.keys.services import MAX_OVERLAP_SECONDS
from kit.rest.bulk import ALONE, ErrorShown, IndexedSerializer, RowsField
from kit.rest.fields import Array, Choice, FieldOptions, Host, Id, Integer, ParsedField, Text, Timestamp
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered
from kit.values.networks import RANGE_SCHEMA, as_ipv4

MAX_ALLOWED_IPS = 100
MAX_ALLOWED_HOSTS = 100


def parse_network(text: str) -> str:
    """Return an address or CIDR range in normal form, IPv4-mapped ones as IPv4. Raises ValueError."""
    if "%" in text:  # scope ids are local to one machine
        raise ValueError("Must be an IP address or a range such as 203.0.113.0/24.")
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError("Must be an IP address or a range such as 203.0.113.0/24.") from None
    try:
        network = ip_network(text)
    except ValueError:
        raise ValueError(f"{text} has bits set behind its prefix. Did you mean {network}?") from None
    network = as_ipv4(network)
    if network.num_addresses == 1:
        return str(network.network_address)
    return str(network)


@extend_schema_field(RANGE_SCHEMA)
class NetworkField(ParsedField[str]):
    example: ClassVar[object] = "203.0.113.0/24"

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_network, **options)


def check_is_to_come(expires_at: datetime) -> None:
    if expires_at <= timezone.now():
        raise serializers.ValidationError("Must be in the future: the key would never work.")


class KeyRateLimitSerializer(StrictSerializer):
    """At most `requests` with the key per UTC minute, hour or day."""

    example = {"requests": 20, "period": "minute"}

    requests = Integer(min_value=1, max_value=MAX_REQUESTS, help_text="Fewer than the plan allows in the period.")
    period = Choice(choices=PERIODS)


class ApiKeySerializer(StrictSerializer):
    """An API key. Its full text, `key`, is only in the reply that creates it."""

    id = Id("key", read_only=True, source="pk")
    object = Choice(choices=["api_key"], read_only=True, default="api_key")
    name = Text(max_length=255, help_text="A label for people.")
    type = Choice(choices=KeyType.choices, help_text="`public` keys can only read.")
    prefix = serializers.CharField(read_only=True, help_text="The beginning of the key, to recognise it by.")
    permissions = Array(
        child=Choice(choices=list(PERMISSIONS)),
        required=False,
        max_length=50,
        help_text="By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has "
        "that reads every item with its figures, and every policy with the requester ids and addresses in its rules.",
    )
    allowedIps = Array(
        child=NetworkField(),
        required=False,
        max_length=MAX_ALLOWED_IPS,
        source="allowed_ips",
        help_text="IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the "
        "addresses of the key that creates it.",
    )
    allowedHosts = Array(
        child=Host(),
        required=False,
        max_length=MAX_ALLOWED_HOSTS,
        source="allowed_hosts",
        help_text="Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the "
        "hosts of the key that creates it. Other endpoints ignore it.",
    )
    rateLimit = KeyRateLimitSerializer(
        required=False,
        allow_null=True,
        source="rate_limit",
        help_text="A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of "
        "the key that creates it. Does not apply at the edge.",
    )
    expiresAt = Timestamp(
        required=False,
        allow_null=True,
        source="expires_at",
        validators=[check_is_to_come],
        help_text="When the key expires; null for never. Default: the expiry of the key that creates it.",
    )
    createdAt = Timestamp(read_only=True, source="created_at")
    lastUsedAt = Timestamp(
        read_only=True, allow_null=True, source="last_used_at", help_text="To the minute; null before the first use."
    )
    revokedAt = Timestamp(
        read_only=True, allow_null=True, source="revoked_at", help_text="When the key was revoked; null if it is not."
    )

    cleared = {"allowedIps": [], "allowedHosts": []}
    owned = shown_once = frozenset({"key"})
    growing = beside_state = frozenset({"lastUsedAt"})


class ApiKeyChangeSerializer(ApiKeySerializer):
    """The fields of a key that can be changed; type and permissions cannot."""

    expiresAt = Timestamp(
        required=False,
        allow_null=True,
        source="expires_at",
        help_text="When the key expires; null for never. A later date makes an expired key valid again.",
    )

    never_null = frozenset({"permissions"})


class CreatedApiKeySerializer(ApiKeySerializer):
    key = serializers.CharField(read_only=True, help_text="The full key. Shown only in this reply.")

    def to_representation(self, instance: ApiKey) -> Rendered:
        vars(instance)["key"] = self.context["key_text"]
        return super().to_representation(instance)


class ApiKeyBulkRowSerializer(ApiKeySerializer):
    """A key to create, or changes to the key with this `id`."""

    id = Id("key", required=False, allow_null=True, help_text="The key to change, as by PATCH.")
    name = Text(max_length=255, required=False, help_text="A label for people. Required when creating a key.")
    type = Choice(
        choices=KeyType.choices, required=False, help_text="Required when creating a key. `public` keys can only read."
    )

    never_null = frozenset({"name"})


class ApiKeyBulkSerializer(StrictSerializer):
    """Keys to create or change."""

    items = RowsField(child=ApiKeyBulkRowSerializer())


class OutcomeKeySerializer(CreatedApiKeySerializer):
    """A created key with its full text, or a changed key."""

    sometimes = frozenset({"key"})


class ApiKeyBulkOutcomeSerializer(IndexedSerializer):
    """The result of a row."""

    status = serializers.ChoiceField(
        choices=[200, 201, 403, 409, 422],
        help_text="`201` created, `200` changed, `403` more than the requesting key may give, `422` a fault of the "
        "row, `409` a revoked key, or one that an earlier row is about.",
    )
    apiKey = OutcomeKeySerializer(allow_null=True, help_text="Null if the row has an error.")
    error = ErrorShown(allow_null=True, help_text=ALONE)


class KeyTextSerializer(StrictSerializer):
    """The full text of a key to find."""

    key = Text(max_length=255, write_only=True, help_text="The full key, as it stands where it leaked.")


class RotationSerializer(StrictSerializer):
    """How long the old key stays valid."""

    overlapSeconds = Integer(
        min_value=0,
        max_value=MAX_OVERLAP_SECONDS,
        required=False,
        source="overlap_seconds",
        help_text="For how long the old key keeps working. Default: 0.",
    )
