"""Expiry events: each expiry is announced once, in advance or when it happens.

No request writes these; the webhook worker looks for them every few minutes. A row per announcement, unique by event
and expiry, keeps processes from announcing it twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db import transaction
from django.db.models import QuerySet

from accounts.events import recording
from accounts.events.models import EndNotice
from accounts.events.recording import objects
from kit.storage.clocks import watch
from kit.storage.lock_waits import try_to_lock_name
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write

EVERY = timedelta(minutes=5)
CATCH_UP = timedelta(days=3)  # how far back expiries are still announced after a downtime
CHUNK = 500
LOCK = 7_202_611_043  # an arbitrary advisory lock number


class ExpiringResource(Protocol):
    """A resource with an expiry."""

    pk: str
    account_id: str
    expires_at: datetime


Rows = QuerySet[Any]  # expiring resources of one model
Ends = Callable[[datetime, datetime], Rows]
Current = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Deadline:
    """An event sent `lead` before a resource expires; `until` is the lead of the event that replaces it."""

    type: str
    kind: str
    lead: timedelta
    until: timedelta


deadlines: list[Deadline] = []
expiring_kinds: dict[str, tuple[Ends, str, Current]] = {}


def register(kind: str, ends: Ends, creation_field: str, *kinds: Deadline, current: Current = list) -> None:
    """Register a kind of resource and its deadlines.

    `ends(after, until)` returns the resources that expire after the first time and not after the second.
    `creation_field` names the field with their creation time. `current` returns such rows as they are now, without
    those that have no end to announce.
    """
    expiring_kinds[kind] = ends, creation_field, current
    deadlines.extend(kinds)


def warnings_before(kind: str, *leads: timedelta) -> list[Deadline]:
    """Return `<kind>.expiring` deadlines with these leads, each valid until the next."""
    until = [*leads[1:], timedelta(0)]
    return [Deadline(f"{kind}.expiring", kind, lead, end) for lead, end in zip(leads, until, strict=True)]


def write_all_due_events() -> int:
    """Write the events that are due and return their number. A process with a wrong clock writes none."""
    if not watch.agrees():
        return 0
    return sum(write_due_events(deadline) for deadline in deadlines)


def write_due_events(deadline: Deadline) -> int:
    now = stored_now()
    ends, creation_field, current = expiring_kinds[deadline.kind]
    after, until = now + deadline.until, now + deadline.lead
    written = 0
    with turn_to_write(), transaction.atomic():
        if not try_to_lock_name(LOCK):  # another process writes them
            return 0
        rows = ends(after, until).order_by("pk")
        for chunk in chunks(rows):
            # Skip resources whose whole life is shorter than the lead.
            due = [row for row in chunk if getattr(row, creation_field) <= row.expires_at - deadline.lead]
            written += write_events(deadline, due, current)
    return written


def chunks(rows: Rows) -> Iterator[list[ExpiringResource]]:
    last = None
    while chunk := list((rows if last is None else rows.filter(pk__gt=last))[:CHUNK]):
        yield chunk
        last = chunk[-1].pk


def write_events(deadline: Deadline, rows: list[ExpiringResource], current: Current) -> int:
    days = deadline.lead.days
    noted = EndNotice.objects.filter(type=deadline.type, days=days, object_id__in=[row.pk for row in rows])
    announced = set(noted.values_list("object_id", "ends_at"))
    new = current([row for row in rows if (row.pk, row.expires_at) not in announced])
    EndNotice.objects.bulk_create(
        [EndNotice(type=deadline.type, days=days, object_id=row.pk, ends_at=row.expires_at) for row in new]
    )
    show = objects[deadline.kind].show
    recording.write([recording.make(row.account_id, deadline.type, row.pk, show(row)) for row in new])
    return len(new)


def forget(before: datetime) -> None:
    """Delete the notices of expiries before this time."""
    EndNotice.objects.filter(ends_at__lt=min(before, stored_now() - 2 * CATCH_UP)).delete()
