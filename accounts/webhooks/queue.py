"""The outbox as a queue: workers claim due deliveries with a lease and record the results.

Several processes may work at once. A claim moves `due_at` to the end of the lease, and no one else takes the delivery
before. A later claim moves `due_at` again, so a result counts only while `due_at` equals the lease.

Claims and results do not wait for the disk. If a database crash undoes one, it is made again, including the attempt.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import uniform

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from accounts.auditing import audit
from accounts.events.models import Event
from accounts.history.rows import restore
from accounts.webhooks import outbox
from accounts.webhooks.models import (
    DeliveryState,
    EndpointStatus,
    WebhookAttempt,
    WebhookDelivery,
    WebhookEndpoint,
)
from kit.outbound.client import TIMEOUT_SECONDS
from kit.storage.unsynced import unsynced

LEASE = timedelta(seconds=2 * TIMEOUT_SECONDS)  # far longer than an attempt
JITTER = 0.1  # fraction added at random to a delay of settings.WEBHOOK_RETRY_SCHEDULE
MAX_DELAY = timedelta(days=1)  # longest delay that a receiver can ask for
OVERLOAD_PAUSE = timedelta(seconds=30)  # pause for an overloaded endpoint that names no delay
OVERLOADED_STATUSES = frozenset({429, 502, 503, 504})
GONE_STATUS = 410
DISABLE_AFTER = timedelta(days=5)  # an endpoint is disabled after failing this long
FORGET_FAILURES_AFTER = timedelta(days=2)  # after so long without attempts, earlier failures no longer count


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery leased to this worker until `lease`. It was due at `due`."""

    pk: int
    endpoint: WebhookEndpoint
    event: Event
    attempts: int
    is_single: bool
    lease: datetime
    due: datetime

    def ends_within(self, seconds: float) -> bool:
        """Whether the lease ends within this time."""
        return timezone.now() + timedelta(seconds=seconds) >= self.lease


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of an attempt. If there was no reply, `status` is None and `error` says why."""

    claimed: ClaimedDelivery
    began: datetime
    duration_ms: int
    status: int | None = None
    error: str | None = None
    reply: str = field(default="", repr=False)
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def due_endpoints(now: datetime) -> list[WebhookEndpoint]:
    """Return the endpoints that have due deliveries and are not paused."""
    due = WebhookDelivery.objects.filter(endpoint=OuterRef("pk"), due_at__lte=now)
    not_paused = Q(paused_until=None) | Q(paused_until__lte=now)
    return list(WebhookEndpoint.objects.filter(not_paused, Exists(due)))


def claim(free_slots: Mapping[str, int], default_slots: int, max_claims: int) -> list[ClaimedDelivery]:
    """Claim up to `max_claims` due deliveries.

    `free_slots` limits them per endpoint, `default_slots` for endpoints it lacks.
    """
    now = timezone.now()
    endpoints = [endpoint for endpoint in due_endpoints(now) if free_slots.get(endpoint.pk, default_slots) > 0]
    if not endpoints or max_claims <= 0:
        return []
    deliveries: list[ClaimedDelivery] = []
    with unsynced():
        lease = timezone.now() + LEASE
        for endpoint in endpoints:
            count = min(free_slots.get(endpoint.pk, default_slots), max_claims - len(deliveries))
            if count > 0:
                deliveries += claim_deliveries(endpoint, count, now, lease)
    return deliveries


def claim_deliveries(endpoint: WebhookEndpoint, count: int, now: datetime, lease: datetime) -> list[ClaimedDelivery]:
    due = WebhookDelivery.objects.filter(endpoint=endpoint, due_at__lte=now).order_by("due_at", "id")
    rows = list(due.select_for_update(skip_locked=True, of=("self",)).select_related("event")[:count])
    if endpoint.status == EndpointStatus.DISABLED:  # queued by a change that did not see the endpoint disabled
        dropped = [row.pk for row in rows if not row.is_single]
        WebhookDelivery.objects.filter(pk__in=dropped).update(state=DeliveryState.FAILED, due_at=None)
        rows = [row for row in rows if row.is_single]
    restore([row.event for row in rows])
    deliveries = [
        ClaimedDelivery(row.pk, endpoint, row.event, row.attempts, row.is_single, lease, row.due_at or now)
        for row in rows
    ]
    WebhookDelivery.objects.filter(pk__in=[row.pk for row in rows]).update(due_at=lease)
    return deliveries


def release_claims(deliveries: Sequence[ClaimedDelivery]) -> None:
    """Release deliveries that were claimed but not attempted. Those of locked endpoints wait for the lease to end."""
    with unsynced():
        endpoints = lock_endpoints({delivery.endpoint.pk for delivery in deliveries})
        for delivery in sorted(deliveries, key=lambda delivery: delivery.pk):
            if delivery.endpoint.pk in endpoints:
                WebhookDelivery.objects.filter(pk=delivery.pk, due_at=delivery.lease).update(due_at=delivery.due)


def settle(results: Sequence[Result]) -> list[Result]:
    """Record the results of attempts and schedule the next ones; return results whose endpoint is locked by others.

    Settle the returned ones later: waiting for them, for instance while a large account is deleted, would delay all
    other endpoints. Results of deleted endpoints are dropped.
    """
    with unsynced():
        endpoint_ids = {result.claimed.endpoint.pk for result in results}
        endpoints = lock_endpoints(endpoint_ids)
        missing = WebhookEndpoint.objects.filter(pk__in=endpoint_ids - endpoints.keys())
        locked_by_others = set(missing.values_list("pk", flat=True))
        attempts = []
        for result in sorted(results, key=lambda result: result.claimed.pk):
            endpoint = endpoints.get(result.claimed.endpoint.pk)
            attempt = None if endpoint is None else settle_one(result, endpoint)
            if attempt is not None:
                attempts.append(attempt)
        WebhookAttempt.objects.bulk_create(attempts)
    return [result for result in results if result.claimed.endpoint.pk in locked_by_others]


def lock_endpoints(endpoint_ids: set[str]) -> dict[str, WebhookEndpoint]:
    """Lock the endpoints that nobody else holds, and return them by id."""
    unlocked = WebhookEndpoint.objects.select_for_update(no_key=True, skip_locked=True)
    return {endpoint.pk: endpoint for endpoint in unlocked.filter(pk__in=endpoint_ids).order_by("pk")}


def settle_one(result: Result, endpoint: WebhookEndpoint) -> WebhookAttempt | None:
    """Update the delivery and build the attempt; None if another worker took over or the event was deleted."""
    claimed = result.claimed
    now = timezone.now()
    delivery = WebhookDelivery.objects.filter(pk=claimed.pk, due_at=claimed.lease)
    number = F("attempts") + 1
    retry_at = None
    if result.succeeded:
        updated = delivery.update(
            state=DeliveryState.DELIVERED, due_at=None, delivered_at=now, attempts=number, is_single=False
        )
    else:
        if not claimed.is_single and result.status != GONE_STATUS and endpoint.status == EndpointStatus.ENABLED:
            retry_at = next_attempt(claimed.attempts + 1, now, result.retry_after)
        state = DeliveryState.FAILED if retry_at is None else DeliveryState.WAITING
        updated = delivery.update(state=state, due_at=retry_at, attempts=number)
    if not updated:
        return None
    if not claimed.is_single:
        if result.succeeded:
            end_failures(endpoint)
        else:
            record_failure(endpoint, now, result.status, result.retry_after)
    return WebhookAttempt(
        endpoint=endpoint,
        event=claimed.event,
        number=claimed.attempts + 1,
        succeeded=result.succeeded,
        status=result.status,
        error=result.error,
        reply=result.reply,
        duration_ms=result.duration_ms,
        next_attempt_at=retry_at if endpoint.status == EndpointStatus.ENABLED else None,
        created=result.began,
    )


def next_attempt(attempts: int, now: datetime, retry_after: timedelta | None) -> datetime | None:
    """Return when to retry after `attempts` attempts, or None at the end of the schedule."""
    schedule = settings.WEBHOOK_RETRY_SCHEDULE
    if attempts >= len(schedule):
        return None
    delay = timedelta(seconds=schedule[attempts] * uniform(1, 1 + JITTER))  # noqa: S311 - keeps retries apart, no secret
    return now + max(delay, min(retry_after or delay, MAX_DELAY))


def end_failures(endpoint: WebhookEndpoint) -> None:
    """End the endpoint's failures and its pause."""
    if endpoint.failing_since is not None:
        endpoint.failing_since = endpoint.last_failure_at = endpoint.paused_until = None
        endpoint.save(update_fields=["failing_since", "last_failure_at", "paused_until"])


def record_failure(
    endpoint: WebhookEndpoint, now: datetime, status: int | None, retry_after: timedelta | None
) -> None:
    """Pause the endpoint if it is overloaded; disable it if it is gone or has failed for days.

    `status` is None if it did not reply. Call it in a transaction that locks the row.
    """
    if endpoint.last_failure_at is None or now - endpoint.last_failure_at > FORGET_FAILURES_AFTER:
        endpoint.failing_since = now
    endpoint.last_failure_at = now
    if status in OVERLOADED_STATUSES:
        endpoint.paused_until = now + min(retry_after or OVERLOAD_PAUSE, MAX_DELAY)
    endpoint.save(update_fields=["failing_since", "last_failure_at", "paused_until"])
    if endpoint.status != EndpointStatus.ENABLED:
        return
    if status == GONE_STATUS:
        disable(endpoint, "It answered 410 Gone.")
    elif endpoint.failing_since is not None and now - endpoint.failing_since >= DISABLE_AFTER:
        disable(endpoint, f"For {DISABLE_AFTER.days} days every delivery failed.")


def disable(endpoint: WebhookEndpoint, reason: str) -> None:
    """Disable an endpoint on the service's own account, with an event."""
    before = endpoint.audited()
    endpoint.status = EndpointStatus.DISABLED
    endpoint.disabled_reason = reason
    endpoint.updated = timezone.now()
    endpoint.access_told_until = None
    endpoint.save()
    outbox.drop_queued_deliveries(endpoint)
    audit.record("webhook_endpoint.disabled", endpoint, before)
