"""Serializers of webhook recovery."""

from rest_framework import serializers

from accounts.events.models import Event
from accounts.events.types import TYPES
from accounts.webhooks.recovery import Recovery
from kit.rest.fields import Boolean, Choice, Id, Timestamp
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp


class RecoverySerializer(StrictSerializer):
    """Which events to send again."""

    since = Timestamp(
        required=False,
        allow_null=True,
        help_text="Sends every event from this time on that the endpoint subscribes to and did not get, also events "
        "from before it was created. Without it, only deliveries that were queued and failed are sent, with those "
        "that wait for a retry.",
    )
    dryRun = Boolean(required=False, help_text="Report the events without sending them. Default: false.")


class RecoveredEventSerializer(serializers.Serializer):
    id = Id("evt")
    type = Choice(choices=[event_type.name for event_type in TYPES])
    created = Timestamp()


class RecoveredSerializer(serializers.Serializer):
    object = Choice(choices=["webhook_recovery"])
    webhookId = Id("we", help_text="The webhook endpoint.")
    since = Timestamp(
        allow_null=True,
        help_text="`since` of the request. Null: only deliveries that failed or wait for a retry are sent.",
    )
    dryRun = Boolean(help_text="As requested.")
    events = serializers.IntegerField(min_value=0, help_text="Number of events sent again.")
    firstEvent = RecoveredEventSerializer(allow_null=True, help_text="The oldest event; null if there are none.")
    lastEvent = RecoveredEventSerializer(allow_null=True, help_text="The newest event; null if there are none.")

    def to_representation(self, recovery: Recovery) -> Rendered:
        return {
            "object": "webhook_recovery",
            "webhookId": recovery.endpoint.pk,
            "since": render_timestamp(recovery.since),
            "dryRun": recovery.is_preview,
            "events": recovery.events,
            "firstEvent": event_heading(recovery.first),
            "lastEvent": event_heading(recovery.last),
        }


def event_heading(event: Event | None) -> Rendered | None:
    if event is None:
        return None
    return {"id": event.pk, "type": event.type, "created": render_timestamp(event.created)}
