"""Keep the archive equal to the closed months of decisions."""

import logging
from collections.abc import Container, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import orjson
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Account
from analytics.archive.changes import wait_for_changes
from analytics.archive.models import ArchivedMonth
from analytics.archive.table import COLUMNS, ArchiveError, Checksum, DecisionTable, Month, Row
from analytics.events.partitions import month_after, month_of
from analytics.events.retention import exclusive_maintenance, horizon
from analytics.models import AccessEvent
from kit.storage.sqlite_turns import turn_to_write

logger = logging.getLogger(__name__)

CLOSED_AFTER = timedelta(hours=1)  # longer than a decision takes from its id to its commit
CHUNK = 20_000
MAX_ATTEMPTS = 3
FIELDS = [column.field for column in COLUMNS.values() if column.field is not None]  # `pk` first, `facts` last


def archive(now: datetime, *, anew: bool = False) -> tuple[int, int]:
    """Copy the closed months that are missing or have changed, and remove those that were purged.

    Returns the number of months copied and removed. Safe to interrupt at any moment: run it again. `anew` discards the
    archive first. Raises ValidationError while a purge or a rebuild is running, and ArchiveError.
    """
    copied = removed = 0
    with exclusive_maintenance(), DecisionTable() as table:
        if anew:
            ArchivedMonth.objects.all().delete()
            table.discard()
        there = table.months()
        for account_id, month in sorted(months_to_remove(there)):
            table.replace(account_id, month, None)
            ArchivedMonth.objects.filter(account_id=account_id, month=month).delete()
            removed += 1
        for account_id in Account.objects.order_by("pk").values_list("pk", flat=True):
            for month in months_to_copy(account_id, there, now):
                if decisions_of(account_id, month).exists():
                    copy(table, account_id, month)
                    copied += 1
        table.prune()
    return copied, removed


def months_to_remove(there: Iterable[Month]) -> Iterator[Month]:
    """Yield the months of deleted accounts, and those before the horizon."""
    accounts, begin = set(Account.objects.values_list("pk", flat=True)), horizon()
    for account_id, month in there:
        if account_id not in accounts or (begin is not None and month < begin.date()):
            yield account_id, month


def months_to_copy(account_id: str, there: Container[Month], now: datetime) -> Iterator[date]:
    """Yield the closed months, from that of the first decision on, without those that are archived as they are."""
    first = AccessEvent.objects.filter(account_id=account_id).order_by("created").values_list("created", flat=True)
    begin = first.first()
    if begin is None:
        return
    archived = ArchivedMonth.objects.filter(account_id=account_id, is_current=True, rows__isnull=False)
    known = set(archived.values_list("month", flat=True))
    month, end = month_of(begin), month_of(now - CLOSED_AFTER)
    while month < end:
        if month.date() not in known or (account_id, month.date()) not in there:
            yield month.date()
        month = month_after(month)


def decisions_of(account_id: str, month: date) -> QuerySet[AccessEvent]:
    begin = datetime(month.year, month.month, 1, tzinfo=UTC)
    return AccessEvent.objects.filter(account_id=account_id, created__gte=begin, created__lt=month_after(begin))


def copy(table: DecisionTable, account_id: str, month: date) -> None:
    """Copy a month and verify the copy before the table gets it. Raises ArchiveError."""
    for _ in range(MAX_ATTEMPTS):
        path = table.path_of(account_id, month, uuid4().hex)
        archived = begin_copy(account_id, month)
        written = table.write(path, rows_of(account_id, month))
        verify(table, path, written, decisions_of(account_id, month).count())
        table.replace(account_id, month, path)
        rows, checksum = written.value
        still = ArchivedMonth.objects.filter(pk=archived.pk, is_current=True)
        if still.update(rows=rows, checksum=checksum):
            logger.info("Archived %d decisions of %s in %s", rows, account_id, f"{month:%Y-%m}")
            return
    raise ArchiveError(f"The decisions of {account_id} in {month:%Y-%m} change all the time. Try again later.")


def begin_copy(account_id: str, month: date) -> ArchivedMonth:
    with turn_to_write(), transaction.atomic():
        wait_for_changes()
        archived, _ = ArchivedMonth.objects.update_or_create(
            account_id=account_id, month=month, defaults={"is_current": True, "rows": None}
        )
    return archived


def rows_of(account_id: str, month: date) -> Iterator[Sequence[Row]]:
    """Yield the rows of the month's decisions in chunks, in the order in which they were made."""
    ordered = decisions_of(account_id, month).order_by("created", "pk").values_list(*FIELDS)
    following = ordered
    while chunk := list(following[:CHUNK]):
        yield [(account_id, month, *values, orjson.dumps(facts).decode()) for *values, facts in chunk]
        last, created = chunk[-1][0], chunk[-1][1]
        following = ordered.filter(created__gte=created).exclude(created=created, pk__lte=last)


def verify(table: DecisionTable, path: str, written: Checksum, recorded: int) -> None:
    """Compare the file with what was written, and with the number of decisions. Raises ArchiveError."""
    read = Checksum()
    for rows in table.read(path):
        read.add(rows)
    if read.value != written.value:
        raise ArchiveError(f"The file {path} differs from what was written to it. Nothing was archived.")
    if read.rows != recorded:
        raise ArchiveError(f"The file {path} has {read.rows} decisions of {recorded}. Nothing was archived.")
