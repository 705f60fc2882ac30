"""Events in the API and in webhook deliveries."""

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.events.event_types import TYPES
from accounts.events.models import Event
from kit.rest.fields import Choice, Id, Timestamp
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp

OBJECT = {"type": "object", "additionalProperties": True}


@extend_schema_field(OBJECT)
class ObjectField(serializers.Field):
    """A JSON object, stored as the API showed it."""


class EventSerializer(serializers.Serializer):
    """Something that happened to one of the account's resources."""

    id = Id("evt")
    object = Choice(choices=["event"])
    type = Choice(choices=[event_type.name for event_type in TYPES])
    created = Timestamp()

    sometimes = frozenset({"previous"})

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add `data`, which cannot be declared above: serializers have an attribute of that name."""
        data = ObjectField(help_text="The resource as the API returned it at that time.")
        previous = ObjectField(help_text="On updates: the fields that changed, with their former values.")
        return super().get_fields() | {"data": data, "previous": previous}

    def to_representation(self, event: Event) -> Rendered:
        body: dict[str, object] = {
            "id": event.pk,
            "object": "event",
            "type": event.type,
            "created": render_timestamp(event.created),
            "data": orjson.Fragment(event.data),
        }
        if event.previous is not None:
            body["previous"] = orjson.Fragment(event.previous)
        return body


def render_event(event: Event) -> dict[str, object]:
    """Return the body of a delivery: the event, plus `timestamp` as Standard Webhooks requires."""
    body = EventSerializer().to_representation(event)
    body["timestamp"] = body["created"]
    return body
