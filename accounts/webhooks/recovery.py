"""Recovery: send an endpoint its failed deliveries now or, from a chosen time, every event it missed."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.auditing import audit
from accounts.events.event_types import EXPLICIT_ONLY_TYPES, covered_by
from accounts.events.models import Event
from accounts.webhooks import outbox
from accounts.webhooks.models import DeliveryState, EndpointStatus, WebhookDelivery, WebhookEndpoint
from accounts.webhooks.queue import LEASE
from accounts.webhooks.services import lock_endpoint
from kit.http.errors import InUse

# Repeats the conditions of `missed_events`, because a worker may settle a delivery in the meantime.
QUEUE_MISSED = f"""INSERT INTO accounts_webhookdelivery (event_id, endpoint_id, state, attempts, is_single, due_at)
    SELECT missed.id, %s, '{DeliveryState.WAITING.value}', 0, FALSE, %s FROM ({{missed}}) missed WHERE TRUE
    ON CONFLICT (event_id, endpoint_id) DO UPDATE
    SET state = excluded.state, attempts = 0, is_single = excluded.is_single, due_at = excluded.due_at
    WHERE accounts_webhookdelivery.delivered_at IS NULL AND (
        accounts_webhookdelivery.state = '{DeliveryState.FAILED.value}'
        OR (accounts_webhookdelivery.state = '{DeliveryState.WAITING.value}' AND accounts_webhookdelivery.due_at > %s)
    )"""  # noqa: S608 - made of constants


@dataclass(frozen=True)
class Recovery:
    """The number of events to send again, with the first and last."""

    endpoint: WebhookEndpoint
    since: datetime | None
    is_preview: bool
    events: int
    first: Event | None
    last: Event | None


def missed_events(endpoint: WebhookEndpoint, since: datetime | None, now: datetime) -> QuerySet[Event]:
    """Return the subscribed events that the endpoint did not receive.

    Without `since`: events whose delivery failed or waits for a retry. With it: every event since then that is not
    delivered, even if it was never queued for the endpoint. Excludes deliveries due within the length of a lease,
    because a worker may be sending them.
    """
    events = Event.objects.filter(account_id=endpoint.account_id, type__in=covered_by(endpoint.events))
    deliveries = WebhookDelivery.objects.filter(event=OuterRef("pk"), endpoint=endpoint)
    unsent = Q(state=DeliveryState.FAILED) | Q(state=DeliveryState.WAITING, due_at__gt=now + LEASE)
    missed = Q(unsent, delivered_at=None)
    if since is None:
        return events.filter(Exists(deliveries.filter(missed)))
    # A summary of decisions is written for one endpoint, whose id is its object id.
    meant_for_it = ~Q(type__in=EXPLICIT_ONLY_TYPES) | Q(object_id=endpoint.pk)
    return events.filter(meant_for_it, ~Exists(deliveries.exclude(missed)), created__gte=since)


def preview(endpoint: WebhookEndpoint, since: datetime | None) -> Recovery:
    """Return what `recover` would send. Raises InUse if the endpoint is disabled."""
    if endpoint.status == EndpointStatus.DISABLED:
        raise InUse("This endpoint is disabled. Enable it first.")
    missed = missed_events(endpoint, since, timezone.now()).only("id", "type", "created")
    first = missed.order_by("created", "id").first()
    last = missed.order_by("-created", "-id").first()
    return Recovery(endpoint, since, True, missed.count(), first, last)


@transaction.atomic
def recover(endpoint: WebhookEndpoint, since: datetime | None) -> Recovery:
    """Queue the events of `missed_events` and end a pause. Raises InUse if the endpoint is disabled."""
    locked = lock_endpoint(endpoint)
    missed = preview(locked, since)
    if locked.paused_until is not None:
        locked.paused_until = None
        locked.save(update_fields=["paused_until"])
    count = queue_missed_events(locked, since) if missed.events else 0
    recovery = replace(missed, is_preview=False, events=count)
    outbox.wake_after_commit()
    changes = {"since": None if since is None else since.isoformat(), "events": recovery.events}
    audit.record("webhook_endpoint.recovered", locked, {}, changes)
    return recovery


def queue_missed_events(endpoint: WebhookEndpoint, since: datetime | None) -> int:
    """Queue every missed event in one statement; return their number."""
    now = timezone.now()
    missed, parameters = missed_events(endpoint, since, now).values("id").query.sql_with_params()
    endpoint_id = WebhookEndpoint._meta.pk.get_db_prep_value(endpoint.pk, connection)
    due_at = connection.ops.adapt_datetimefield_value(now)
    last_lease = connection.ops.adapt_datetimefield_value(now + LEASE)
    with connection.cursor() as cursor:
        cursor.execute(QUEUE_MISSED.format(missed=missed), [endpoint_id, due_at, *parameters, last_lease])
        return int(cursor.rowcount)
