"""Operations on webhook endpoints and events, for endpoints, commands and the admin."""

from collections.abc import Iterable, Mapping

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.events import recording
from accounts.events.event_types import BY_NAME, PERMISSIONS, PING, TYPES, covered_by
from accounts.events.models import Event
from accounts.events.recording import objects
from accounts.keys.authentication import Grant
from accounts.plans.models import Account
from accounts.webhooks import outbox, secrets
from accounts.webhooks.models import DeliveryState, EndpointStatus, WebhookDelivery, WebhookEndpoint
from kit.http.errors import InsufficientPermissions, ValidationFailed
from kit.outbound.destinations import DestinationRefused, check_url
from kit.rest.resources import find
from kit.values.json_values import Validated

MAX_ENDPOINTS = 50  # per account
PRIVATE_HINT = " For development, the setting WEBHOOKS_ALLOW_PRIVATE=on allows it."


def set_fields(endpoint: WebhookEndpoint, fields: Validated) -> None:
    """Set the given fields. Raises ValidationFailed if the URL is not an allowed destination."""
    if "url" in fields:
        check_destination(fields["url"])
    if "headers" in fields:
        headers = fields["headers"] or {}
        endpoint.headers = secrets.seal(headers) if headers else None
        endpoint.header_names = sorted(headers)
    for name, value in fields.items():
        if name != "headers":
            setattr(endpoint, name, value)
    if not endpoint.subscribes_to_access or endpoint.status == EndpointStatus.DISABLED:
        endpoint.access_told_until = None
    elif endpoint.access_told_until is None:
        endpoint.access_told_until = timezone.now().replace(second=0, microsecond=0)


def check_destination(url: str) -> None:
    """Raise ValidationFailed if the URL is not an allowed destination. Names the setting that would allow it."""
    try:
        check_url(url, allow_private=settings.WEBHOOKS_ALLOW_PRIVATE)
    except DestinationRefused as error:
        hint = PRIVATE_HINT if is_private_destination(url) else ""
        raise ValidationFailed(f"{error}{hint}", param="url") from None


def is_private_destination(url: str) -> bool:
    """Whether only WEBHOOKS_ALLOW_PRIVATE keeps the URL from being allowed."""
    try:
        check_url(url, allow_private=True)
    except DestinationRefused:
        return False
    return not settings.WEBHOOKS_ALLOW_PRIVATE


def lock_endpoint(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    """Return the current endpoint, locked until the transaction ends. Raises NotFound if it was deleted."""
    endpoints = WebhookEndpoint.objects.filter(account_id=endpoint.account_id)
    # no_key: inserting deliveries for it does not have to wait.
    return find(endpoints.select_for_update(no_key=True), endpoint.pk)


@transaction.atomic
def create_endpoint(
    account_id: str, fields: Mapping[str, object], *, endpoint_id: str | None = None
) -> tuple[WebhookEndpoint, str]:
    """Create an endpoint and return it with its secret.

    `endpoint_id` is an unused id for it. Raises ValidationFailed.
    """
    # serialises concurrent requests, so that the limit holds
    Account.objects.select_for_update(no_key=True).get(pk=account_id)
    if WebhookEndpoint.objects.filter(account_id=account_id).count() >= MAX_ENDPOINTS:
        raise ValidationFailed(f"An account has at most {MAX_ENDPOINTS} webhook endpoints.", param="url")
    sealed, text = secrets.create_secrets()
    now = timezone.now()
    endpoint = WebhookEndpoint(account_id=account_id, secrets=sealed, created=now, updated=now)
    if endpoint_id is not None:
        endpoint.pk = endpoint_id
    set_fields(endpoint, fields)
    endpoint.save(force_insert=True)
    audit.record("webhook_endpoint.created", endpoint, {})
    return endpoint, text


@transaction.atomic
def update_endpoint(endpoint: WebhookEndpoint, fields: Mapping[str, object]) -> WebhookEndpoint:
    """Change the endpoint; disabling it drops its queued deliveries. Raises ValidationFailed."""
    locked = lock_endpoint(endpoint)
    before = locked.audited()
    headers = secrets.readable_headers(locked.headers)
    set_fields(locked, fields)
    if locked.status == EndpointStatus.ENABLED and before["status"] != EndpointStatus.ENABLED:
        locked.disabled_reason = locked.failing_since = locked.last_failure_at = locked.paused_until = None
    after = locked.audited()
    if secrets.readable_headers(locked.headers) != headers:
        after["headers"] = "changed"  # the log records that they changed, but not the values, which are secret
    change = audit.build_change("webhook_endpoint.updated", locked, before, after)
    if change is None:
        return lock_endpoint(endpoint)  # as stored: `locked` has the fields
    locked.updated = timezone.now()
    locked.save()
    if locked.status == EndpointStatus.DISABLED:
        outbox.drop_queued_deliveries(locked)
    audit.record_all([change])
    return locked


@transaction.atomic
def delete_endpoint(endpoint: WebhookEndpoint) -> None:
    """Delete the endpoint with its deliveries and attempts."""
    locked = lock_endpoint(endpoint)
    audit.record("webhook_endpoint.deleted", locked, locked.audited(), {})
    locked.delete()


@transaction.atomic
def rotate_secret(endpoint: WebhookEndpoint) -> tuple[WebhookEndpoint, str]:
    """Add a new secret and return its text, shown only once.

    The former secret signs too for 24 hours, unless a changed API_KEY_PEPPER made it unreadable.
    """
    locked = lock_endpoint(endpoint)
    now = timezone.now()
    locked.secrets, text = secrets.add_secret(locked.secrets, now)
    locked.updated = now
    locked.save(update_fields=["secrets", "updated"])
    audit.record("webhook_endpoint.rotated", locked, {}, {"secret": "changed"})
    return locked, text


@transaction.atomic
def ping(endpoint: WebhookEndpoint) -> Event:
    """Send a `ping` event to this endpoint only: a single attempt, even if it is disabled."""
    locked = lock_endpoint(endpoint)
    event_object = objects["webhook_endpoint"].show(locked)
    event = recording.build(locked.account_id, PING, locked.pk, event_object)
    event.save(force_insert=True)
    send_once(event, locked)
    audit.record("webhook_endpoint.pinged", locked, {}, {"eventId": event.pk})
    return event


@transaction.atomic
def redeliver(event: Event, endpoint: WebhookEndpoint) -> None:
    """Make a single attempt at once, regardless of subscriptions, even if the endpoint is disabled."""
    send_once(event, lock_endpoint(endpoint))
    audit.record("event.redelivered", event, {}, {"webhookId": endpoint.pk})


def send_once(event: Event, endpoint: WebhookEndpoint) -> None:
    """Queue an attempt for now, and end a pause. A delivery that is still waiting keeps its schedule.

    `endpoint` is locked.
    """
    if endpoint.paused_until is not None:
        endpoint.paused_until = None
        endpoint.save(update_fields=["paused_until"])
    outbox.wake_after_commit()
    delivery, is_new = WebhookDelivery.objects.get_or_create(
        event=event, endpoint=endpoint, defaults={"is_single": True, "due_at": timezone.now()}
    )
    if is_new:
        return
    locked = WebhookDelivery.objects.select_for_update().get(pk=delivery.pk)
    locked.is_single = locked.is_single or locked.state != DeliveryState.WAITING
    locked.state = DeliveryState.WAITING
    locked.due_at = timezone.now()
    locked.save(update_fields=["is_single", "state", "due_at"])


# --- What a key may see ----------------------------------------------------------------------------------------------


def readable_types(grant: Grant) -> list[str]:
    """Return the types of event that the key may see."""
    return [event_type.name for event_type in TYPES if grant.allows(PERMISSIONS[event_type.object])]


def require_read_permissions(grant: Grant, patterns: Iterable[str]) -> None:
    """Raise InsufficientPermissions, naming the first one missing, if the key may not see every event they cover."""
    for name in covered_by(patterns):
        permission = PERMISSIONS[BY_NAME[name].object]
        if not grant.allows(permission):
            raise InsufficientPermissions(
                f"This key lacks the permission {permission}, which an endpoint that receives {name} needs. "
                "Use an endpoint with narrower `events`, or a key with that permission."
            )
