"""What can be done with webhook endpoints and events; endpoints, commands and the admin all call these."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from accounts import audit
from accounts.events import recording
from accounts.events.models import Event
from accounts.events.objects import objects
from accounts.events.types import PING, covered_by
from accounts.models import Account
from accounts.webhooks import secrets
from accounts.webhooks.models import DeliveryState, EndpointStatus, WebhookDelivery, WebhookEndpoint
from kit.http.errors import InUse, ValidationFailed
from kit.outbound.destinations import Refused, check_url
from kit.rest.resources import find

MAX_ENDPOINTS = 50  # of an account
Fields = dict[str, Any]


def apply(endpoint: WebhookEndpoint, fields: Fields) -> None:
    """Sets what is given. Raises ValidationFailed for a URL that no webhook may go to."""
    fields = dict(fields)
    if "url" in fields:
        try:
            check_url(fields["url"], allow_private=settings.WEBHOOKS_ALLOW_PRIVATE)
        except Refused as error:
            raise ValidationFailed(str(error), param="url") from None
    if "headers" in fields:
        headers = fields.pop("headers") or {}
        endpoint.headers = secrets.seal(headers) if headers else None
        endpoint.header_names = sorted(headers)
    for name, value in fields.items():
        setattr(endpoint, name, value)


def lock(endpoint: WebhookEndpoint) -> WebhookEndpoint:
    """The endpoint as it is now, locked until the transaction ends. Raises NotFound if it has gone."""
    owned = WebhookEndpoint.objects.filter(account_id=endpoint.account_id)
    # Changes that queue something for it go on meanwhile.
    return find(owned.select_for_update(no_key=True), endpoint.pk)


@transaction.atomic
def create_endpoint(account_id: str, fields: Fields, *, endpoint_id: str | None = None) -> tuple[WebhookEndpoint, str]:
    """A new endpoint, and its secret. `endpoint_id` is an id for it that none has yet. Raises ValidationFailed."""
    Account.objects.select_for_update(no_key=True).get(pk=account_id)  # so that two at once do not both see room
    if WebhookEndpoint.objects.filter(account_id=account_id).count() >= MAX_ENDPOINTS:
        raise ValidationFailed(f"An account has at most {MAX_ENDPOINTS} webhook endpoints.", param="url")
    sealed, text = secrets.new_secrets()
    now = timezone.now()
    named = {} if endpoint_id is None else {"pk": endpoint_id}
    endpoint = WebhookEndpoint(**named, account_id=account_id, secrets=sealed, created=now, updated=now)
    apply(endpoint, fields)
    endpoint.save(force_insert=True)
    audit.record("webhook_endpoint.created", endpoint, {})
    return endpoint, text


@transaction.atomic
def update_endpoint(endpoint: WebhookEndpoint, fields: Fields) -> WebhookEndpoint:
    """Raises ValidationFailed. What waits for an endpoint that gets disabled is given up."""
    locked = lock(endpoint)
    before, headers = locked.audited(), secrets.open_headers(locked.headers)
    apply(locked, fields)
    change = audit.entry("webhook_endpoint.updated", locked, before)
    if change is None and secrets.open_headers(locked.headers) == headers:
        return lock(endpoint)
    if locked.status == EndpointStatus.ENABLED and before["status"] != EndpointStatus.ENABLED:
        locked.disabled_reason = locked.failing_since = locked.last_failure_at = locked.paused_until = None
    locked.updated = timezone.now()
    locked.save()
    if locked.status == EndpointStatus.DISABLED:
        give_up(locked)
    if secrets.open_headers(locked.headers) != headers:
        # The values are secrets; that they changed is told.
        audit.record("webhook_endpoint.updated", locked, before, {**locked.audited(), "headers": "changed"})
    else:
        audit.record("webhook_endpoint.updated", locked, before)
    return locked


@transaction.atomic
def delete_endpoint(endpoint: WebhookEndpoint) -> None:
    """With what waits for it, and what is known of its attempts."""
    locked = lock(endpoint)
    audit.record("webhook_endpoint.deleted", locked, locked.audited(), {})
    locked.delete()


@transaction.atomic
def rotate_secret(endpoint: WebhookEndpoint) -> tuple[WebhookEndpoint, str]:
    """A new secret, told once; the former one signs beside it for 24 hours."""
    locked = lock(endpoint)
    now = timezone.now()
    locked.secrets, text = secrets.rotated(locked.secrets, now)
    locked.updated = now
    locked.save(update_fields=["secrets", "updated"])
    audit.record("webhook_endpoint.rotated", locked, {}, {"secret": "changed"})
    return locked, text


@transaction.atomic
def ping(endpoint: WebhookEndpoint) -> Event:
    """An event of type `ping` for this endpoint alone: one attempt, also where it is disabled."""
    locked = lock(endpoint)
    shown = objects["webhook_endpoint"].show(locked)
    event = recording.make(locked.account_id, PING, locked.pk, shown)
    event.save(force_insert=True)
    send_once(event, locked)
    audit.record("webhook_endpoint.pinged", locked, {}, {"eventId": event.pk})
    return event


@transaction.atomic
def redeliver(event: Event, endpoint: WebhookEndpoint) -> None:
    """One attempt more, at once, whatever the endpoint subscribes to and also where it is disabled."""
    send_once(event, lock(endpoint))
    audit.record("event.redelivered", event, {}, {"webhookId": endpoint.pk})


def send_once(event: Event, endpoint: WebhookEndpoint) -> None:
    """An attempt at once. What is still waiting keeps its place in the schedule."""
    delivery, is_new = WebhookDelivery.objects.get_or_create(
        event=event, endpoint=endpoint, defaults={"is_single": True, "due_at": timezone.now()}
    )
    if is_new:
        return
    locked = WebhookDelivery.objects.select_for_update().get(pk=delivery.pk)
    locked.is_single = locked.is_single or locked.state != DeliveryState.WAITING
    locked.state, locked.due_at = DeliveryState.WAITING, timezone.now()
    locked.save(update_fields=["is_single", "state", "due_at"])


@transaction.atomic
def recover(endpoint: WebhookEndpoint, since: datetime) -> int:
    """Queues what the endpoint should have heard of since then and did not get; returns how many events.

    Raises InUse for a disabled endpoint.
    """
    locked = lock(endpoint)
    if locked.status == EndpointStatus.DISABLED:
        raise InUse("This endpoint is disabled. Enable it first.")
    missed = missed_events(locked, since)
    audit.record("webhook_endpoint.recovered", locked, {}, {"since": since.isoformat(), "events": missed})
    return missed


def missed_events(endpoint: WebhookEndpoint, since: datetime) -> int:
    """In one statement, however many they are. What waits already keeps its place."""
    names = covered_by(endpoint.events)
    if not names:
        return 0
    prepared = WebhookEndpoint._meta.pk.get_db_prep_value(endpoint.pk, connection)
    account = Account._meta.pk.get_db_prep_value(endpoint.account_id, connection)
    now, moment = (connection.ops.adapt_datetimefield_value(value) for value in (timezone.now(), since))
    types = ", ".join(["%s"] * len(names))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO accounts_webhookdelivery (event_id, endpoint_id, state, attempts, is_single, due_at)
            SELECT id, %s, '{DeliveryState.WAITING}', 0, %s, %s FROM accounts_event
            WHERE account_id = %s AND created >= %s AND type IN ({types})
            ON CONFLICT (event_id, endpoint_id) DO UPDATE
            SET state = excluded.state, attempts = 0, is_single = excluded.is_single, due_at = excluded.due_at
            WHERE accounts_webhookdelivery.state = '{DeliveryState.FAILED}'
              AND accounts_webhookdelivery.delivered_at IS NULL""",  # noqa: S608 - made of constants
            [prepared, False, now, account, moment, *names],
        )
        return int(cursor.rowcount)


def disable(endpoint: WebhookEndpoint, reason: str) -> None:
    """By the service itself, with an event of its own. Call it in a transaction, with the endpoint locked."""
    before = endpoint.audited()
    endpoint.status, endpoint.disabled_reason, endpoint.updated = EndpointStatus.DISABLED, reason, timezone.now()
    endpoint.save()
    give_up(endpoint)
    audit.record("webhook_endpoint.disabled", endpoint, before)


def give_up(endpoint: WebhookEndpoint) -> None:
    """Ends what waits for the endpoint; `recover` and `redeliver` can bring it back."""
    waiting = WebhookDelivery.objects.filter(endpoint=endpoint, due_at__isnull=False, is_single=False)
    waiting.update(state=DeliveryState.FAILED, due_at=None)
