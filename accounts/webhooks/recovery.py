"""Recovery: send an endpoint its failed deliveries again or, from a chosen time, every event it missed."""

from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.auditing import audit
from accounts.events.models import Event
from accounts.events.types import TO_BE_NAMED, covered_by
from accounts.webhooks import wakeup
from accounts.webhooks.models import DeliveryState, EndpointStatus, WebhookDelivery, WebhookEndpoint
from accounts.webhooks.services import lock
from kit.http.errors import InUse

# WAITING deliveries keep their place in the schedule; delivered ones stay delivered.
QUEUE = """INSERT INTO accounts_webhookdelivery (event_id, endpoint_id, state, attempts, is_single, due_at)
    SELECT missed.id, %s, '{waiting}', 0, %s, %s FROM ({missed}) missed WHERE TRUE
    ON CONFLICT (event_id, endpoint_id) DO UPDATE
    SET state = excluded.state, attempts = 0, is_single = excluded.is_single, due_at = excluded.due_at
    WHERE accounts_webhookdelivery.state = '{failed}' AND accounts_webhookdelivery.delivered_at IS NULL"""


@dataclass(frozen=True)
class Recovery:
    """The number of events to send again, with the first and last."""

    endpoint: WebhookEndpoint
    since: datetime | None
    is_preview: bool
    events: int
    first: Event | None
    last: Event | None


def missed_events(endpoint: WebhookEndpoint, since: datetime | None) -> QuerySet[Event]:
    """Return the subscribed events that the endpoint did not receive.

    Without `since`: events whose delivery failed. With it: every event since then that is neither delivered nor
    waiting, even if it was never queued for the endpoint.
    """
    owned = Event.objects.filter(account_id=endpoint.account_id, type__in=covered_by(endpoint.events))
    deliveries = WebhookDelivery.objects.filter(event=OuterRef("pk"), endpoint=endpoint)
    failed = Q(state=DeliveryState.FAILED, delivered_at=None)
    if since is None:
        return owned.filter(Exists(deliveries.filter(failed)))
    # A summary of decisions is written for one endpoint, whose id is its object id.
    meant_for_it = ~Q(type__in=TO_BE_NAMED) | Q(object_id=endpoint.pk)
    return owned.filter(meant_for_it, ~Exists(deliveries.exclude(failed)), created__gte=since)


def preview(endpoint: WebhookEndpoint, since: datetime | None) -> Recovery:
    """Return what `recover` would send. Raises InUse if the endpoint is disabled."""
    if endpoint.status == EndpointStatus.DISABLED:
        raise InUse("This endpoint is disabled. Enable it first.")
    missed = missed_events(endpoint, since).only("id", "type", "created")
    first, last = missed.order_by("created", "id").first(), missed.order_by("-created", "-id").first()
    return Recovery(endpoint, since, True, missed.count(), first, last)


@transaction.atomic
def recover(endpoint: WebhookEndpoint, since: datetime | None) -> Recovery:
    """Queue the events of `missed_events`. Raises InUse if the endpoint is disabled."""
    locked = lock(endpoint)
    previewed = preview(locked, since)
    queued = replace(previewed, is_preview=False, events=queue(locked, since) if previewed.events else 0)
    wakeup.after_commit()
    changes = {"since": None if since is None else since.isoformat(), "events": queued.events}
    audit.record("webhook_endpoint.recovered", locked, {}, changes)
    return queued


def queue(endpoint: WebhookEndpoint, since: datetime | None) -> int:
    """Queue every missed event in one statement; return their number."""
    missed, parameters = missed_events(endpoint, since).values("id").query.sql_with_params()
    endpoint_id = WebhookEndpoint._meta.pk.get_db_prep_value(endpoint.pk, connection)
    now = connection.ops.adapt_datetimefield_value(timezone.now())
    statement = QUEUE.format(missed=missed, waiting=DeliveryState.WAITING.value, failed=DeliveryState.FAILED.value)
    with connection.cursor() as cursor:
        cursor.execute(statement, [endpoint_id, False, now, *parameters])
        return int(cursor.rowcount)
