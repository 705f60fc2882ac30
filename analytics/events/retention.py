"""Deleting old events. Their totals (`stats`, usage) remain."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.dispatch import Signal

from analytics.archive.horizon import stored_horizon
from analytics.archive.models import ArchivedMonth
from analytics.events.partitions import drop_before, first_decision_id, has_partitions, month_start
from analytics.models import AccessEvent, EventHorizon
from kit.storage.exclusive import ExclusiveLock

BATCH_ROWS = 10_000
LOCK = 7_202_611_041  # an arbitrary advisory lock number


# Sent with a `moment` before decisions from before it are removed. Receivers read what they still need of them.
before_removal = Signal()


class Purged(NamedTuple):
    """The partitions and months of the archive that were dropped, and the number of other events that were deleted."""

    partitions: list[str]
    archived_months: list[str]
    events: int


def purge_events(before: datetime) -> Purged:
    """Delete the events of all months before the one that contains `before`.

    On PostgreSQL drops their partitions, and deletes those of the default partition, which has events of all times.
    """
    month = month_start(before)
    with exclusive_maintenance():
        before_removal.send(AccessEvent, moment=month)
        archived = store_horizon(month)
        if has_partitions():
            dropped = drop_before(month)
            deleted = delete_in_batches(AccessEvent.objects.filter(pk__lt=first_decision_id(month)))
            return Purged(dropped, archived, deleted)
        return Purged([], archived, delete_in_batches(AccessEvent.objects.filter(created__lt=month)))


def delete_in_batches(events: QuerySet[AccessEvent]) -> int:
    """Delete the events and return their number. Decisions can be recorded between two batches."""
    deleted = 0
    while batch := list(events.values_list("pk", flat=True)[:BATCH_ROWS]):
        batch_deleted, _ = AccessEvent.objects.filter(pk__in=batch).delete()
        deleted += batch_deleted
    return deleted


def store_horizon(month: datetime) -> list[str]:
    """Store the horizon before deleting, so that a rebuild does not treat purged events as never recorded.

    Returns the months that the archive had from before it, such as `2026-01`.
    """
    purged_until = horizon()
    EventHorizon.objects.update_or_create(
        pk=1, defaults={"begin": max(purged_until, month) if purged_until else month}
    )
    purged = ArchivedMonth.objects.filter(month__lt=month.date())
    months = sorted({f"{one:%Y-%m}" for one in purged.values_list("month", flat=True)})
    purged.delete()  # the archive's own files go at its next run
    return months


def horizon() -> datetime | None:
    """Return the start of the first month that was not purged; None before any purge."""
    return EventHorizon.objects.values_list("begin", flat=True).first()


def recorded_since() -> datetime | None:
    """Return the moment from which on the database has all decisions; None if that is the first one.

    Earlier ones are purged, or only in the archive.
    """
    return max((moment for moment in (horizon(), stored_horizon()) if moment is not None), default=None)


@contextmanager
def exclusive_maintenance() -> Iterator[None]:
    """Run one purge or rebuild at a time. Raises ValidationError if another is running."""
    lock = ExclusiveLock(LOCK, ".lock")
    if not lock.take():
        raise ValidationError("A rebuild or a purge is running already.")
    try:
        yield
    finally:
        lock.release()
