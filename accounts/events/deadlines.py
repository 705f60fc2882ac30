"""Expiry events: each expiry is announced once, in advance or when it happens.

No request writes these; the webhook worker looks for them every few minutes. A row per announcement, unique by event
and expiry, keeps processes from announcing it twice.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from django.db import transaction
from django.db.models import QuerySet

from accounts.events import recording
from accounts.events.models import EndNotice
from accounts.events.recording import objects
from kit.storage.clocks import watch
from kit.storage.postgresql.advisory_locks import try_to_lock_name
from kit.storage.reading import in_chunks, stored_now
from kit.storage.sqlite_turns import turn_to_write

RUN_INTERVAL = timedelta(minutes=5)
CATCH_UP = timedelta(days=3)  # how far back expiries are still announced after a downtime
CHUNK_ROWS = 500
LOCK = 7_202_611_043  # an arbitrary advisory lock number


class ExpiringResource(Protocol):
    """A resource with an expiry."""

    pk: str
    account_id: str
    expires_at: datetime


Refresh = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True)
class Deadline:
    """An event sent `lead` before a resource expires; `until` is the lead of the event that replaces it."""

    type: str
    kind: str
    lead: timedelta
    until: timedelta


class ExpiringKind(NamedTuple):
    """A kind of resource that expires: the rows that may end, and the field with their creation time.

    `refresh` returns such rows as they are now, without those that have no end to announce.
    """

    rows: QuerySet[Any]
    creation_field: str
    refresh: Refresh


deadlines: list[Deadline] = []
expiring_kinds: dict[str, ExpiringKind] = {}


def register(kind: str, resources: ExpiringKind, *kind_deadlines: Deadline) -> None:
    """Register a kind of resource and its deadlines."""
    expiring_kinds[kind] = resources
    deadlines.extend(kind_deadlines)


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
    kind = expiring_kinds[deadline.kind]
    count = 0
    with turn_to_write(), transaction.atomic():
        if not try_to_lock_name(LOCK):  # another process writes them
            return 0
        rows = kind.rows.filter(expires_at__gt=now + deadline.until, expires_at__lte=now + deadline.lead)
        for chunk in in_chunks(rows, CHUNK_ROWS):
            # Skip resources whose whole life is shorter than the lead.
            due = [row for row in chunk if getattr(row, kind.creation_field) <= row.expires_at - deadline.lead]
            count += write_events(deadline, due, kind.refresh)
    return count


def write_events(deadline: Deadline, rows: list[ExpiringResource], refresh: Refresh) -> int:
    days = deadline.lead.days
    notices = EndNotice.objects.filter(type=deadline.type, days=days, object_id__in=[row.pk for row in rows])
    announced = set(notices.values_list("object_id", "ends_at"))
    new_rows = refresh([row for row in rows if (row.pk, row.expires_at) not in announced])
    EndNotice.objects.bulk_create(
        [EndNotice(type=deadline.type, days=days, object_id=row.pk, ends_at=row.expires_at) for row in new_rows]
    )
    show = objects[deadline.kind].show
    recording.write_events([recording.build(row.account_id, deadline.type, row.pk, show(row)) for row in new_rows])
    return len(new_rows)


def delete_notices(before: datetime, **signal: object) -> None:
    """Delete the notices of expiries before this time."""
    EndNotice.objects.filter(ends_at__lt=min(before, stored_now() - 2 * CATCH_UP)).delete()
