"""How events show what this app has: API keys and webhook endpoints."""

from accounts.events.objects import register
from accounts.examples import ENDPOINT, KEY
from accounts.serializers import ApiKeySerializer
from accounts.webhooks.serializers import WebhookEndpointSerializer

register("api_key", ApiKeySerializer(), KEY)
register("webhook_endpoint", WebhookEndpointSerializer(), ENDPOINT)
