"""Purging old events. Their totals (`stats`, usage) stay."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

from django.core.exceptions import ValidationError
from django.db import connection

from analytics.events.partitions import drop_before, month_of
from analytics.models import AccessEvent, EventHorizon
from kit.private_files import lock_of, private_database

BATCH = 10_000
LOCK = 7_202_611_041  # any number that nothing else locks


def purge_events(before: datetime) -> int | list[str]:
    """Deletes the events of the whole months before that moment.

    On PostgreSQL drops their partitions and returns their names; on SQLite deletes in batches, so that recording goes
    on in between, and returns how many events there were.
    """
    month = month_of(before)
    with alone():
        remember(month)
        if connection.vendor == "postgresql":
            return drop_before(month)
        deleted = 0
        while True:
            some = list(AccessEvent.objects.filter(created__lt=month).values_list("pk", flat=True)[:BATCH])
            if not some:
                return deleted
            deleted += AccessEvent.objects.filter(pk__in=some).delete()[0]


def remember(month: datetime) -> None:
    """Store the horizon before deleting, so that a rebuild does not take purged events for never recorded."""
    known = horizon()
    EventHorizon.objects.update_or_create(pk=1, defaults={"begin": max(known, month) if known else month})


def horizon() -> datetime | None:
    """The moment (start of a month) before which events may have been purged; None if none were."""
    return EventHorizon.objects.values_list("begin", flat=True).first()


@contextmanager
def alone() -> Iterator[None]:
    """Run one purge or rebuild at a time. Raises ValidationError if another is running."""
    refusal = ValidationError("A rebuild or a purge is running already.")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
            if cursor.fetchone() != (True,):
                raise refusal
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
        return
    # The lock of a database of its own: the system lets go of it when the process ends, however that comes about.
    path = lock_of(Path(connection.settings_dict["NAME"]))
    private_database(path)
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as lock:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise refusal from None
        yield
