"""Writing events: in the transaction of what they tell of, together with their places in the outbox."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from accounts.events.models import Event
from accounts.events.objects import objects
from accounts.events.types import BY_NAME, Changes, type_of
from accounts.webhooks.outbox import enqueue
from kit.http.rendering import render_json

BATCH_ROWS = 500


def event_of(account_id: str | None, action: str, resource: Any, changes: Changes, *, is_update: bool) -> Event | None:
    """The event of a change that the audit log tells of, not yet written; None for what others do not hear of."""
    name = type_of(action, changes)
    if name is None or account_id is None:
        return None
    shown = objects[BY_NAME[name].object]
    previous = shown.former({field: pair[0] for field, pair in changes.items()}) if is_update else None
    return make(account_id, name, resource.pk, shown.show(resource), previous)


def make(account_id: str, name: str, object_id: str, data: Any, previous: Mapping[str, Any] | None = None) -> Event:
    """An event, not yet written."""
    return Event(
        account_id=account_id,
        type=name,
        object_id=object_id,
        data=render_json(data).decode(),
        previous=None if previous is None else render_json(previous).decode(),
        created=timezone.now(),
    )


def write(events: Sequence[Event]) -> None:
    """Stores events, and their deliveries to the endpoints that hear of them."""
    if events:
        Event.objects.bulk_create(events, batch_size=BATCH_ROWS)
        enqueue(events)
