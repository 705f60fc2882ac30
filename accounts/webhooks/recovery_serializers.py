"""Serializers of webhook recovery."""

from rest_framework import serializers

from accounts.events.event_types import TYPES
from kit.rest.fields import Boolean, Choice, Id, Timestamp
from kit.rest.rows import ShownRow
from kit.rest.serializers import StrictSerializer


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


class RecoveredEventSerializer(ShownRow):
    """The first or the last event of a recovery."""

    id = Id("evt")
    type = Choice(choices=[event_type.name for event_type in TYPES])
    created = Timestamp()


class RecoveredSerializer(ShownRow):
    """The events that a recovery sends again."""

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

    attributes = {"webhookId": "endpoint.pk", "dryRun": "is_preview", "firstEvent": "first", "lastEvent": "last"}
