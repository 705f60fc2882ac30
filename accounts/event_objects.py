"""Register the event objects of API keys, webhook endpoints and limits, their deadlines, and the event listeners."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from accounts.events import clock, deadlines, recording, retention
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
clock.register(deadlines.write_all_due_events, deadlines.EVERY)
recording.listen(outbox.enqueue)
retention.forgetting += [deadlines.forget, limit_events.forget]


def keys_that_end(after: datetime, until: datetime) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(revoked_at=None, expires_at__gt=after, expires_at__lte=until)


deadlines.register(
    "api_key",
    keys_that_end,
    "created_at",
    *deadlines.warnings_before("api_key", timedelta(days=7), timedelta(days=1)),
)
