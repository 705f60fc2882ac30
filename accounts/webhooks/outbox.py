"""The outbox: what is to be delivered, written with the events themselves."""

from collections.abc import Sequence

from accounts.events.models import Event
from accounts.webhooks.models import EndpointStatus, WebhookDelivery, WebhookEndpoint

BATCH_ROWS = 500


def enqueue(events: Sequence[Event]) -> None:
    """Lets every enabled endpoint of their accounts that hears of the events have them."""
    accounts = {event.account_id for event in events}
    enabled = WebhookEndpoint.objects.filter(account_id__in=accounts, status=EndpointStatus.ENABLED)
    # Neither secrets nor headers need to be read for each change.
    listening = list(enabled.only("id", "account_id", "events"))
    WebhookDelivery.objects.bulk_create(
        [
            WebhookDelivery(event=event, endpoint=endpoint, due_at=event.created)
            for event in events
            for endpoint in listening
            if endpoint.account_id == event.account_id and endpoint.hears_of(event.type)
        ],
        batch_size=BATCH_ROWS,
    )
