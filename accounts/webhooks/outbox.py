"""The webhook outbox: deliveries are written with their events."""

from collections.abc import Callable, Iterable, Sequence

from django.db import transaction

from accounts.events.models import Event
from accounts.webhooks.models import DeliveryState, EndpointStatus, WebhookDelivery, WebhookEndpoint
from kit.storage.loading import Columns, prepare, prepared_cursor

BATCH_ROWS = 500
# Every change reads these, so they exclude secrets and headers.
COLUMNS = Columns(WebhookEndpoint, "endpoint", "id", "account", "events")
ENABLED = f"SELECT {COLUMNS.sql} FROM accounts_webhookendpoint endpoint WHERE account_id = %s AND status = %s"  # noqa: S608


def enabled_endpoints(account_id: str) -> list[WebhookEndpoint]:
    """Return the account's enabled endpoints, with id, account and events only."""
    parameters = [prepare(WebhookEndpoint, "account_id", account_id), EndpointStatus.ENABLED.value]
    with prepared_cursor() as cursor:
        cursor.execute(ENABLED, parameters)
        return [COLUMNS.instance(row) for row in cursor.fetchall()]


def enqueue(events: Sequence[Event], **signal: object) -> None:
    """Queue the events for every enabled endpoint of their accounts that subscribes to them."""
    endpoints = {account_id: enabled_endpoints(account_id) for account_id in {event.account_id for event in events}}
    deliveries = []
    for event in events:
        for endpoint in endpoints[event.account_id]:
            if endpoint.subscribes_to(event.type):
                deliveries.append(WebhookDelivery(event=event, endpoint=endpoint, due_at=event.created))
    store_deliveries(deliveries)


def enqueue_for(endpoint: WebhookEndpoint, events: Sequence[Event]) -> None:
    """Queue the events for one endpoint only."""
    store_deliveries(WebhookDelivery(event=event, endpoint=endpoint, due_at=event.created) for event in events)


def store_deliveries(deliveries: Iterable[WebhookDelivery]) -> None:
    if WebhookDelivery.objects.bulk_create(list(deliveries), batch_size=BATCH_ROWS):
        wake_after_commit()


def drop_queued_deliveries(endpoint: WebhookEndpoint) -> None:
    """Drop the endpoint's queued deliveries; `recover` and `redeliver` can restore them."""
    waiting = WebhookDelivery.objects.filter(endpoint=endpoint, due_at__isnull=False, is_single=False)
    waiting.update(state=DeliveryState.FAILED, due_at=None)


workers: set[Callable[[], object]] = set()  # each is thread-safe


def wake_workers() -> None:
    for wake in list(workers):
        wake()


def wake_after_commit() -> None:
    if workers:
        transaction.on_commit(wake_workers, robust=True)
