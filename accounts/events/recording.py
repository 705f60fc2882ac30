"""Writing events in the transaction of the change, together with what listeners write (the webhook outbox)."""

from collections.abc import Callable, Mapping, Sequence

from django.utils import timezone

from accounts.events.models import Event
from accounts.events.objects import Resource, objects
from accounts.events.types import BY_NAME, Changes, type_of
from kit.http.rendering import render_json

BATCH_ROWS = 500

# Called with the events of each write, in its transaction. Higher-level packages register theirs at startup.
Listener = Callable[[Sequence[Event]], None]
listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Register a listener once; repeated calls have no effect."""
    if listener not in listeners:
        listeners.append(listener)


def event_of(
    account_id: str | None, action: str, resource: Resource, changes: Changes, *, is_update: bool
) -> Event | None:
    """Build the event of an audited change; None if its action has no event."""
    name = type_of(action, changes)
    if name is None or account_id is None:
        return None
    shown = objects[BY_NAME[name].object]
    previous = shown.former({field: pair[0] for field, pair in changes.items()}) if is_update else None
    object_id = str(getattr(resource, "public_id", resource.pk))
    return make(account_id, name, object_id, shown.show(resource), previous)


def make(
    account_id: str, name: str, object_id: str, data: object, previous: Mapping[str, object] | None = None
) -> Event:
    """Build an unwritten event."""
    return Event(
        account_id=account_id,
        type=name,
        object_id=object_id,
        data=render_json(data).decode(),
        previous=None if previous is None else render_json(previous).decode(),
        created=timezone.now(),
    )


def store(events: Sequence[Event]) -> None:
    """Store events without notifying listeners."""
    Event.objects.bulk_create(events, batch_size=BATCH_ROWS)


def write(events: Sequence[Event]) -> None:
    """Store events and notify every listener, in the caller's transaction."""
    if events:
        store(events)
        for listener in listeners:
            listener(events)
