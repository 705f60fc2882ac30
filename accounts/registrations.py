"""Registers objects and deadlines of events, periodic tasks and signal receivers when Django starts."""

from datetime import timedelta

from accounts.events import deadlines, periodic_tasks, recording, retention
from accounts.events.recording import register, register_plain
from accounts.examples import ENDPOINT, KEY, LIMIT
from accounts.keys.models import ApiKey
from accounts.keys.serializers import ApiKeySerializer
from accounts.limits import events as limit_events
from accounts.webhooks import outbox
from accounts.webhooks.serializers import WebhookEndpointSerializer

register("api_key", ApiKeySerializer(), KEY)
register("webhook_endpoint", WebhookEndpointSerializer(), ENDPOINT)
register_plain("limit", LIMIT)
periodic_tasks.register(deadlines.write_all_due_events, deadlines.RUN_INTERVAL)
recording.events_written.connect(outbox.enqueue)
retention.events_deleted.connect(deadlines.delete_notices)
retention.events_deleted.connect(limit_events.delete_notices)
deadlines.register(
    "api_key",
    deadlines.ExpiringKind(ApiKey.objects.filter(revoked_at=None), "created_at", list),
    *deadlines.warnings_before("api_key", timedelta(days=7), timedelta(days=1)),
)
