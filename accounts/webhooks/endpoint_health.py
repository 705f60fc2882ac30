"""The health of webhook endpoints: pauses overloaded ones, and disables those that are gone or keep failing."""

from datetime import datetime, timedelta

from django.utils import timezone

from accounts.auditing import audit
from accounts.webhooks import outbox
from accounts.webhooks.models import EndpointStatus, WebhookEndpoint

MOST_DELAY = timedelta(days=1)  # longest delay that a receiver can ask for
SLOW_DOWN = timedelta(seconds=30)  # pause for an overloaded endpoint that names no delay
OVERLOADED = frozenset({429, 502, 503, 504})
GONE = 410
FAILING_FOR = timedelta(days=5)  # an endpoint is disabled after failing this long
SILENCE = timedelta(days=2)  # after so long without attempts, earlier failures no longer count


def note_success(endpoint: WebhookEndpoint) -> None:
    """End the endpoint's failures and its pause."""
    if endpoint.failing_since is not None:
        endpoint.failing_since = endpoint.last_failure_at = endpoint.paused_until = None
        endpoint.save(update_fields=["failing_since", "last_failure_at", "paused_until"])


def note_failure(endpoint: WebhookEndpoint, now: datetime, status: int | None, retry_after: timedelta | None) -> None:
    """Pause the endpoint if it is overloaded; disable it if it is gone or has failed for days.

    `status` is None if it did not reply. Call it in a transaction that locks the row.
    """
    if endpoint.last_failure_at is None or now - endpoint.last_failure_at > SILENCE:
        endpoint.failing_since = now
    endpoint.last_failure_at = now
    if status in OVERLOADED:
        endpoint.paused_until = now + min(retry_after or SLOW_DOWN, MOST_DELAY)
    endpoint.save(update_fields=["failing_since", "last_failure_at", "paused_until"])
    if endpoint.status != EndpointStatus.ENABLED:
        return
    if status == GONE:
        disable(endpoint, "It answered 410 Gone.")
    elif endpoint.failing_since is not None and now - endpoint.failing_since >= FAILING_FOR:
        disable(endpoint, f"For {FAILING_FOR.days} days every delivery failed.")


def disable(endpoint: WebhookEndpoint, reason: str) -> None:
    """Disable an endpoint on the service's own account, with an event."""
    before = endpoint.audited()
    endpoint.status, endpoint.disabled_reason, endpoint.updated = EndpointStatus.DISABLED, reason, timezone.now()
    endpoint.access_told_until = None
    endpoint.save()
    outbox.drop_waiting(endpoint)
    audit.record("webhook_endpoint.disabled", endpoint, before)
