"""Writing events: in the transaction of the change, together with their places in the outbox."""

from collections.abc import Mapping, Sequence

from django.utils import timezone

from accounts.events.models import Event
from accounts.events.objects import Resource, objects
from accounts.events.types import BY_NAME, Changes, type_of
from accounts.webhooks.models import WebhookEndpoint
from accounts.webhooks.outbox import enqueue, enqueue_for
from kit.http.rendering import render_json

BATCH_ROWS = 500


def event_of(
    account_id: str | None, action: str, resource: Resource, changes: Changes, *, is_update: bool
) -> Event | None:
    """The event of an audited change, not yet written; None for a change that has no event."""
    name = type_of(action, changes)
    if name is None or account_id is None:
        return None
    shown = objects[BY_NAME[name].object]
    previous = shown.former({field: pair[0] for field, pair in changes.items()}) if is_update else None
    return make(account_id, name, str(resource.pk), shown.show(resource), previous)


def make(
    account_id: str, name: str, object_id: str, data: object, previous: Mapping[str, object] | None = None
) -> Event:
    """An event, not yet written."""
    return Event(
        account_id=account_id,
        type=name,
        object_id=object_id,
        data=render_json(data).decode(),
        previous=None if previous is None else render_json(previous).decode(),
        created=timezone.now(),
    )


def write(events: Sequence[Event], only: WebhookEndpoint | None = None) -> None:
    """Stores events, and their deliveries to all endpoints that subscribe to them, or to `only` one."""
    if events:
        Event.objects.bulk_create(events, batch_size=BATCH_ROWS)
        if only is None:
            enqueue(events)
        else:
            enqueue_for(only, events)
