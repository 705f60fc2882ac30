"""Remove decisions from the database that the archive has."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from time import sleep
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import TruncMonth

from analytics.archive import store
from analytics.archive.changes import wait_for_changes
from analytics.archive.copying import closed_until, months_to_copy
from analytics.archive.horizon import horizon_cache, stored_horizon
from analytics.archive.layout import COLUMNS
from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from analytics.archive.only_copies import decisions_in_month, is_deleted
from analytics.archive.store import ArchiveError
from analytics.archive.table import DecisionTable
from analytics.events.partitions import drop_before, first_decision_id, month_start
from analytics.events.retention import before_removal, delete_in_batches, exclusive_maintenance
from analytics.models import AccessEvent
from analytics.rollups.roll_up import roll_up
from kit.storage.reading import committed_until
from kit.storage.sqlite_turns import turn_to_write

logger = logging.getLogger(__name__)

# From the new horizon to the removal: longer than processes remember the horizon and than a reply takes.
GRACE_SECONDS = 60.0


def drop_archived(now: datetime, until: datetime) -> datetime | None:
    """Remove the decisions of archived months before that of `until` from the database.

    Returns the start of the first month that is complete in the database; None if nothing was ever removed.
    First compares each month's file with its checksum and with the number of its decisions. Safe to interrupt at any
    moment: run it again. Raises ValidationError while a purge or a rebuild is running, and ArchiveError.
    """
    now = committed_until(now)
    with exclusive_maintenance():
        begin = stored_horizon()
        end = min(month_start(until), closed_until(now))
        first = AccessEvent.objects.order_by("pk").values_list("created", flat=True).first()
        if first is not None and first < end and (begin is None or begin < end):
            verify_months(begin, end)
            store.sync()
            roll_up()  # an erasure finds the archived months of a customer by its totals
            move_horizon(now, end)
        horizon = stored_horizon()
        if horizon is not None:
            remove_before(horizon)
        return horizon


def verify_months(begin: datetime | None, end: datetime) -> None:
    """Compare the copies of the months from `begin` to `end` with the database. Raises ArchiveError."""
    if AccessEvent.objects.filter(pk__lt=first_decision_id(end), created__gte=end).exists():
        raise ArchiveError(f"Some decisions from {end:%Y-%m} on have ids of an earlier month. Nothing was removed.")
    months = ArchivedMonth.objects.filter(month__lt=end.date())
    if begin is not None:
        months = months.filter(month__gte=begin.date())
    with DecisionTable() as table:
        for archived in months.order_by("month"):
            verify_copy(table, archived)


def verify_copy(table: DecisionTable, archived: ArchivedMonth) -> None:
    """Read the month's file once more. Raises ArchiveError."""
    checksum = table.checksum(archived.uri)
    recorded = decisions_in_month(archived.account_id, archived.month).count()
    file_differs = checksum.value != (archived.rows, archived.checksum)
    database_differs = recorded != archived.rows
    if not (file_differs or database_differs):
        return
    if ArchivedMonth.objects.filter(pk=archived.pk).exists():  # otherwise its account was deleted meanwhile
        raise ArchiveError(f"The archive differs from the decisions of {archived}. Nothing was removed.")


def move_horizon(now: datetime, end: datetime) -> None:
    """Let lists read the archive before `end`. Raises ArchiveError if a month has changed since it was copied."""
    with DecisionTable() as table:
        archived_months = table.months()
    with turn_to_write(), transaction.atomic():
        wait_for_changes()
        for account_id, month in months_to_copy(archived_months, now):
            if month < end.date():
                raise ArchiveError(f"The decisions of {account_id} in {month:%Y-%m} have changed. Run it again.")
        ArchiveHorizon.objects.update_or_create(pk=1, defaults={"begin": end})
    horizon_cache.clear()


def remove_before(horizon: datetime) -> None:
    archived = AccessEvent.objects.filter(pk__lt=first_decision_id(horizon))
    if not archived.exists():
        return
    before_removal.send(AccessEvent, moment=horizon)
    sleep(GRACE_SECONDS)
    late = list(late_decisions(archived))
    if late:
        logger.warning(
            "%d decisions were recorded into months that had been archived, by a process whose clock was behind. "
            "They stay in the database, where lists do not read them.",
            len(late),
        )
        delete_in_batches(archived.exclude(pk__in=late))
        return
    drop_before(horizon)
    delete_in_batches(archived)  # on PostgreSQL those of the default partition


def late_decisions(archived: QuerySet[AccessEvent]) -> Iterator[str]:
    """Yield the ids of decisions that the archive lacks: they were recorded after their month was copied."""
    months = archived.annotate(month=TruncMonth("created", tzinfo=UTC)).values_list("account_id", "month")
    with DecisionTable() as table:
        for account_id, month, recorded in months.annotate(number=Count("pk")).order_by("account_id", "month"):
            copy = ArchivedMonth.objects.filter(account_id=account_id, month=month.date()).exclude(file="").first()
            if copy is not None and copy.rows == recorded:
                continue  # `verify_months` has compared them
            decisions = decisions_in_month(account_id, month.date()).filter(pk__in=archived.values("pk"))
            if copy is not None:
                yield from decisions_missing_in(table, copy, decisions)
            elif not is_deleted(account_id):
                yield from decisions.values_list("pk", flat=True)


def decisions_missing_in(table: DecisionTable, copy: ArchivedMonth, decisions: QuerySet[AccessEvent]) -> Iterator[str]:
    """Compare in the order of the file, (created, id), so that neither side has to fit into memory."""
    archived_keys = read_keys(table, copy)
    archived_key = next(archived_keys, None)
    for recorded_key in decisions.order_by("created", "pk").values_list("created", "pk").iterator():
        while archived_key is not None and archived_key < recorded_key:
            archived_key = next(archived_keys, None)
        if archived_key != recorded_key:
            yield recorded_key[1]


def read_keys(table: DecisionTable, copy: ArchivedMonth) -> Iterator[tuple[Any, Any]]:
    """Yield (created, id) of each decision in the month's file."""
    columns = list(COLUMNS)
    created_at = columns.index("created")
    id_at = columns.index("id")
    for rows in table.read(copy.uri):
        for row in rows:
            yield row[created_at], row[id_at]
