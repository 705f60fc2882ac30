"""Events of time: each end of a resource is announced once, ahead of time or when it has come.

No change writes these: the worker that delivers webhooks looks for them every few minutes. A row for each
announcement, whose key names the event and the end, keeps any process from announcing it twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.events import recording
from accounts.events.models import EndNotice
from accounts.events.objects import objects
from kit.storage.sqlite_turns import turn_to_write

EVERY = timedelta(minutes=5)
CATCH_UP = timedelta(days=3)  # for which an end that has passed unseen, with the service down, is still told
CHUNK = 500
LOCK = 7_202_611_043  # any number that nothing else locks


class Ending(Protocol):
    """A resource that ends."""

    pk: str
    account_id: str
    expires_at: datetime


Ends = Callable[[datetime, datetime], QuerySet[Any]]  # of rows that are an Ending, whatever their model


@dataclass(frozen=True)
class Deadline:
    """An event of `kind`'s resources, `lead` before they end; `until` is the lead of the event that takes over."""

    type: str
    kind: str
    lead: timedelta
    until: timedelta


deadlines: list[Deadline] = []
ends_of: dict[str, tuple[Ends, str]] = {}


def register(kind: str, ends: Ends, made: str, *told: Deadline) -> None:
    """Registers a kind of resource and its deadlines.

    `ends` gives the resources that end after the first moment and not after the second; `made` names the field of
    their creation.
    """
    ends_of[kind] = ends, made
    deadlines.extend(told)


def warnings_before(kind: str, *leads: timedelta) -> list[Deadline]:
    """`<kind>.expiring` so long before the end, each until the next."""
    until = [*leads[1:], timedelta(0)]
    return [Deadline(f"{kind}.expiring", kind, lead, end) for lead, end in zip(leads, until, strict=True)]


def tell() -> int:
    """Writes the events that are due; returns how many."""
    return sum(tell_of(deadline) for deadline in deadlines)


def tell_of(deadline: Deadline) -> int:
    now = timezone.now()
    ends, made = ends_of[deadline.kind]
    after, until = now + deadline.until, now + deadline.lead
    told = 0
    with turn_to_write(), transaction.atomic():
        if not take_turn():
            return 0
        rows = ends(after, until).order_by("pk")
        for chunk in chunks(rows):
            # What was made with so short a life is no news.
            due = [row for row in chunk if getattr(row, made) <= row.expires_at - deadline.lead]
            told += tell_some(deadline, due)
    return told


def take_turn() -> bool:
    """False if another process is at it."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return cursor.fetchone() == (True,)


def chunks(rows: QuerySet[Any]) -> Iterator[list[Ending]]:
    last = None
    while chunk := list((rows if last is None else rows.filter(pk__gt=last))[:CHUNK]):
        yield chunk
        last = chunk[-1].pk


def tell_some(deadline: Deadline, rows: list[Ending]) -> int:
    days = deadline.lead.days
    noted = EndNotice.objects.filter(type=deadline.type, days=days, object_id__in=[row.pk for row in rows])
    known = set(noted.values_list("object_id", "ends_at"))
    new = [row for row in rows if (row.pk, row.expires_at) not in known]
    EndNotice.objects.bulk_create(
        [EndNotice(type=deadline.type, days=days, object_id=row.pk, ends_at=row.expires_at) for row in new]
    )
    show = objects[deadline.kind].show
    recording.write([recording.make(row.account_id, deadline.type, row.pk, show(row)) for row in new])
    return len(new)


def forget(before: datetime) -> None:
    """Drops the notes of ends that are long past."""
    EndNotice.objects.filter(ends_at__lt=min(before, timezone.now() - 2 * CATCH_UP)).delete()
