"""Writing events in the transaction of the change, together with what receivers write (the webhook outbox).

Events show their objects like the API. Each app registers its own kinds at startup.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.dispatch import Signal
from django.utils import timezone
from rest_framework.serializers import BaseSerializer

from accounts.events.event_types import BY_ACTION, Changes
from accounts.events.models import Event
from accounts.history.rows import conceal
from kit.http.rendering import render_json

Fields = dict[str, object]
BATCH_ROWS = 500


class Resource(Protocol):
    """A model with an id, whose changes write events."""

    @property
    def pk(self) -> object: ...


def to_api_names(former: Mapping[str, object]) -> Fields:
    """Convert field names of the audit log to the API's: `metadata.author` becomes `author` in `metadata`."""
    fields: Fields = {}
    groups: dict[str, Fields] = {}
    for name, value in former.items():
        outer, _, inner = name.partition(".")
        if inner:
            fields[outer] = group = groups.setdefault(outer, {})
            group[inner] = value
        else:
            fields[name] = value
    return fields


@dataclass(frozen=True)
class ShownObject:
    """`show` renders a resource like the API; `former` converts previous values from the audit log to the
    API's shape.
    """

    show: Callable[..., object]
    example: Fields
    former: Callable[[Mapping[str, object]], Fields] = to_api_names


objects: dict[str, ShownObject] = {}


def register(
    kind: str,
    serializer: BaseSerializer,
    example: Fields,
    former: Callable[[Mapping[str, object]], Fields] = to_api_names,
) -> None:
    """Register a kind of resource; `kind` is the first half of its audit actions."""
    objects[kind] = ShownObject(serializer.to_representation, example, former)


def register_plain(kind: str, example: Fields) -> None:
    """Register a kind without a model: the code that writes its events builds `data`."""
    objects[kind] = ShownObject(dict, example)


# Sent with the `events` of each write, in its transaction. Higher-level packages connect receivers at startup.
events_written = Signal()


def build_event(
    account_id: str | None, action: str, resource: Resource, changes: Changes, *, is_update: bool
) -> Event | None:
    """Build the event of an audited change; None if its action has no event."""
    types = [one for one in BY_ACTION.get(action, ()) if one.when is None or one.when(changes)]
    if not types or account_id is None:
        return None
    event_type = types[0]
    event_object = objects[event_type.object]
    previous = event_object.former({field: pair[0] for field, pair in changes.items()}) if is_update else None
    object_id = str(getattr(resource, "public_id", resource.pk))
    return build(account_id, event_type.name, object_id, event_object.show(resource), previous)


def build(
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


def store_events(events: Sequence[Event]) -> None:
    """Store events without sending the signal."""
    conceal(events)
    Event.objects.bulk_create(events, batch_size=BATCH_ROWS)


def write_events(events: Sequence[Event]) -> None:
    """Store events and send `events_written`, in the caller's transaction."""
    if events:
        store_events(events)
        events_written.send(Event, events=events)
