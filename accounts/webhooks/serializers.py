"""Webhook endpoints and deliveries in the API."""

import re
from typing import ClassVar, Unpack

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.events.event_types import PATTERNS
from accounts.webhooks.models import EndpointStatus
from kit.rest.fields import Array, Boolean, Choice, FieldOptions, Id, Integer, ParsedField, Text, Timestamp, Url
from kit.rest.resources import id_hint
from kit.rest.rows import RowSerializer, ShownRow
from kit.rest.serializers import StrictSerializer
from kit.values import ids
from kit.values.suggestions import did_you_mean

MAX_PATTERNS = 50
MAX_HEADERS = 20
MAX_FILTERED = 100
HEADER_NAME = r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}"
HEADER_VALUE = r"[\x21-\x7e]([\x20-\x7e]{0,998}[\x21-\x7e])?"
match_header_name = re.compile(HEADER_NAME).fullmatch
match_header_value = re.compile(HEADER_VALUE).fullmatch
# Set by the service, or able to change how the request is parsed.
OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    }
)


def parse_pattern(text: str) -> str:
    """Return a valid subscription: an event type, a group such as `content.*`, or `*`. Raises ValueError."""
    if text not in PATTERNS:
        raise ValueError(
            "Must be *, a group such as content.*, or a type of event such as content.created."
            + did_you_mean(text, PATTERNS)
        )
    return text


@extend_schema_field({"type": "string", "enum": PATTERNS, "example": "content.*"})
class Pattern(ParsedField[str]):
    example: ClassVar[object] = "content.*"

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_pattern, **options)


@extend_schema_field(
    {
        "type": "object",
        "propertyNames": {"pattern": f"^{HEADER_NAME}$"},
        "additionalProperties": {"type": "string", "pattern": f"^{HEADER_VALUE}$"},
        "maxProperties": MAX_HEADERS,
    }
)
class HeadersField(serializers.Field):
    """HTTP headers by name."""

    def to_internal_value(self, data: object) -> dict[str, str]:
        if not isinstance(data, dict):
            raise serializers.ValidationError('Must be an object such as {"X-Tenant": "news"}.')
        if len(data) > MAX_HEADERS:
            raise serializers.ValidationError(f"Takes at most {MAX_HEADERS} headers.")
        if len({name.lower() for name in data}) < len(data):
            raise serializers.ValidationError("Names a header twice.")
        for name, value in data.items():
            if not match_header_name(name) or name.lower() in OWN_HEADERS or name.lower().startswith("webhook-"):
                raise serializers.ValidationError({name[:100]: ["This header cannot be set."]})
            if not isinstance(value, str) or not match_header_value(value):
                raise serializers.ValidationError({name: ["Must be a string of 1 to 1,000 visible ASCII characters."]})
        return data


def parse_policy_id(text: str) -> str:
    if ids.decode("pol", text) is None:
        raise ValueError(f"Must be the id of a policy.{id_hint('pol', text)}")
    return text


@extend_schema_field({"type": "string", "pattern": f"^pol_{ids.TEXT}$"})
class PolicyId(ParsedField[str]):
    example: ClassVar[object] = "pol_…"

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_policy_id, **options)


# The denial reasons to filter by, with their descriptions. The licensing app registers them.
reasons_for_denials: dict[str, str] = {}


class DenialReason(Choice):
    """A denial reason. Its choices are read on creation, because reasons are registered after this import."""

    def __init__(self) -> None:
        super().__init__(choices=list(reasons_for_denials.items()))


class AccessFilterSerializer(StrictSerializer):
    """Which decisions the endpoint receives; each given list must contain the decision's own value."""

    sometimes = frozenset({"policyIds", "requesterIds", "reasons"})

    policyIds = Array(
        child=PolicyId(),
        required=False,
        min_length=1,
        max_length=MAX_FILTERED,
        help_text="Policies that made the decision.",
    )
    requesterIds = Array(
        child=Text(max_length=255),
        required=False,
        min_length=1,
        max_length=MAX_FILTERED,
        help_text="Requesters, by the caller's own ids.",
    )
    reasons = Array(
        child=DenialReason(),
        required=False,
        min_length=1,
        max_length=MAX_FILTERED,
        help_text="Reasons of denials. Excludes allowed decisions, which have no reason.",
    )


class WebhookEndpointSerializer(RowSerializer):
    """A URL that receives the account's events."""

    id = Id("we", read_only=True)
    object = Choice(choices=["webhook_endpoint"], read_only=True)
    url = Url(help_text="`https`, port 443, a public address.")
    events = Array(
        child=Pattern(),
        required=False,
        min_length=1,
        max_length=MAX_PATTERNS,
        help_text="Event types, groups such as `content.*`, or `*` (default).",
    )
    description = Text(max_length=500, required=False, allow_null=True, allow_blank=True)
    accessFilter = AccessFilterSerializer(
        source="access_filter",
        required=False,
        allow_null=True,
        help_text="Filters `access.denied` and `access.allowed` events. Null: all.",
    )
    status = Choice(choices=EndpointStatus.choices, required=False, help_text="Default: `enabled`.")
    disabledReason = serializers.CharField(
        read_only=True, allow_null=True, help_text="Why the service disabled the endpoint; null if it did not."
    )
    headers = HeadersField(
        required=False,
        allow_null=True,
        write_only=True,
        help_text="Sent with each delivery, for example for authentication. Stored encrypted, never shown.",
    )
    headerNames = Array(child=serializers.CharField(), read_only=True, help_text="The names of `headers`.")
    failingSince = Timestamp(read_only=True, allow_null=True, help_text="Null while deliveries succeed.")
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    cleared = {"events": ["*"]}
    owned = shown_once = frozenset({"secret"})
    beside_state = frozenset({"failingSince"})

    def validate_events(self, patterns: list[str]) -> list[str]:
        return list(dict.fromkeys(patterns))


class SecretSerializer(WebhookEndpointSerializer):
    secret = serializers.CharField(read_only=True, help_text="Signs the deliveries. Shown only in this reply.")


class DeletedEndpointSerializer(serializers.Serializer):
    id = Id("we")
    object = Choice(choices=["webhook_endpoint"])
    deleted = serializers.BooleanField(help_text="Always true.")


class EmptySerializer(StrictSerializer):
    """An empty body."""


class RedeliverySerializer(StrictSerializer):
    """The endpoint that gets the event."""

    webhookId = Id("we", max_length=100, help_text="The endpoint to send the event to again.")


class WebhookAttemptSerializer(ShownRow):
    """One attempt to deliver an event."""

    id = Id("del")
    object = Choice(choices=["webhook_delivery"])
    webhookId = Id("we", help_text="The webhook endpoint.")
    eventId = Id("evt", help_text="The event.")
    eventType = serializers.CharField(help_text="Its type.")
    attempt = Integer(min_value=1, help_text="Number of this attempt, for this event and endpoint.")
    succeeded = Boolean(help_text="Whether the status was from 200 to 299.")
    status = Integer(allow_null=True, help_text="Status of the reply; null if there was none.")
    error = serializers.CharField(allow_null=True, help_text="Why there was no reply.")
    response = serializers.CharField(help_text="The first 1,024 bytes of the reply's body.")
    durationMs = Integer(min_value=0, help_text="Duration of the attempt, in milliseconds.")
    nextAttempt = Timestamp(allow_null=True, help_text="Time of the next attempt; null if none is scheduled.")
    created = Timestamp()

    attributes = {
        "webhookId": "endpoint_id",
        "eventType": "event.type",
        "attempt": "number",
        "response": "reply",
        "nextAttempt": "next_attempt_at",
    }
