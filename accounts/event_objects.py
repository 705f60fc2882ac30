"""How events show what this app has, API keys, webhook endpoints and limits, and which ends they tell of."""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from accounts.events import clock, deadlines
from accounts.events.objects import register, register_plain
from accounts.examples import ENDPOINT, KEY, LIMIT
from accounts.models import ApiKey
from accounts.serializers import ApiKeySerializer
from accounts.webhooks.serializers import WebhookEndpointSerializer

register("api_key", ApiKeySerializer(), KEY)
register("webhook_endpoint", WebhookEndpointSerializer(), ENDPOINT)
register_plain("limit", LIMIT)
clock.register(deadlines.tell, deadlines.EVERY)


def keys_that_end(after: datetime, until: datetime) -> QuerySet[ApiKey]:
    return ApiKey.objects.filter(revoked_at=None, expires_at__gt=after, expires_at__lte=until)


deadlines.register(
    "api_key",
    keys_that_end,
    "created_at",
    *deadlines.warnings_before("api_key", timedelta(days=7), timedelta(days=1)),
)
