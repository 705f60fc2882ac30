"""Partitions of the events on PostgreSQL, so that old months can be dropped and recent ones stay in memory.

A partition has a month, or a day of a month that follows one with over MAX_MONTH_EVENTS events: a busy month would
take hours to vacuum, and its indexes would not fit into memory.

Events are partitioned by id, whose first 48 bits are the millisecond of recording (UUIDv7). Partitions are created in
advance; events without one go to the default partition and are moved when theirs is created. SQLite uses one table.

Creating and dropping a partition needs a table for itself. Both wait for it only briefly (kit.storage.lock_waits), so
that checks and lists do not queue up behind them while a long report is read.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import connection

from kit.storage.lock_waits import short_lock_transaction, until_unlocked
from kit.values import ids

TABLE = "analytics_accessevent"
DEFAULT = f"{TABLE}_default"
MONTHS_AHEAD = 3
MAX_MONTH_EVENTS = 50_000_000  # events; the month after one with more is partitioned by day


def month_after(month: datetime, months: int = 1) -> datetime:
    years, index = divmod(month.month - 1 + months, 12)
    return month.replace(year=month.year + years, month=index + 1)


def month_start(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def first_decision_id(moment: datetime) -> str:
    """Return the smallest id of a decision of that millisecond."""
    return ids.first_id("dec", moment)


@dataclass(frozen=True, slots=True)
class PartitionSpan:
    name: str
    begin: datetime
    end: datetime

    @classmethod
    def of_month(cls, month: datetime) -> "PartitionSpan":
        return cls(f"{TABLE}_{month:%Y_%m}", month, month_after(month))

    @classmethod
    def of_day(cls, day: datetime) -> "PartitionSpan":
        return cls(f"{TABLE}_{day:%Y_%m_%d}", day, day + timedelta(days=1))

    def days(self) -> "list[PartitionSpan]":
        number = (self.end - self.begin).days
        return [PartitionSpan.of_day(self.begin + timedelta(days=day)) for day in range(number)]

    def overlaps(self, name: str) -> bool:
        """Return whether the partition `name` has this month or day, or a part of it."""
        return name.startswith(self.name) or self.name.startswith(name)


def list_partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [TABLE])
        return {name for (name,) in cursor.fetchall()}


def has_partitions() -> bool:
    """Whether decisions are in partitions by month: on PostgreSQL. SQLite has one table."""
    return connection.vendor == "postgresql"


def ensure_partitions(now: datetime, months_ahead: int = MONTHS_AHEAD) -> list[str]:
    """Create the missing partitions of this month and the next ones; return their names.

    Safe to run concurrently in several processes and during recording.
    """
    if not has_partitions():
        return []
    created = []
    for ahead in range(months_ahead + 1):
        month = PartitionSpan.of_month(month_after(month_start(now), ahead))
        existing = {name for name in list_partitions() if name.startswith(month.name)}
        if month.name in existing and not (follows_busy_month(month) and until_unlocked(partial(drop_empty, month))):
            continue
        missing = missing_spans(month, existing)
        created += [span.name for span in missing if until_unlocked(partial(make_partition, span))]
    return created


def missing_spans(month: PartitionSpan, existing: Collection[str]) -> list[PartitionSpan]:
    """Return the month, or those of its days that have no partition."""
    if not existing and not follows_busy_month(month):
        return [month]
    return [day for day in month.days() if day.name not in existing]


def follows_busy_month(month: PartitionSpan) -> bool:
    return is_busy(month_after(month.begin, -1))


def is_busy(month: datetime) -> bool:
    """Return whether the month has over MAX_MONTH_EVENTS events, as far as autovacuum has counted."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(sum(reltuples), 0) FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid "
            "WHERE inhparent = %s::regclass AND starts_with(relname, %s) AND reltuples > 0",
            [TABLE, PartitionSpan.of_month(month).name],
        )
        return bool(cursor.fetchone()[0] > MAX_MONTH_EVENTS)


def drop_empty(span: PartitionSpan) -> bool:
    """Drop a partition. Returns False if it has events, or another process has dropped it first."""
    if has_events(span):
        return False
    with short_lock_transaction() as cursor:
        cursor.execute(f"LOCK TABLE ONLY {TABLE} IN ACCESS EXCLUSIVE MODE")  # nobody writes to its partitions
        if span.name not in list_partitions() or has_events(span):
            return False
        cursor.execute(f"DROP TABLE {span.name}")
    return True


def has_events(span: PartitionSpan) -> bool:
    with connection.cursor() as cursor:
        bounds = [ids.first_uuid(span.begin), ids.first_uuid(span.end)]
        cursor.execute(f"SELECT EXISTS (SELECT FROM {TABLE} WHERE id >= %s AND id < %s)", bounds)  # noqa: S608
        return bool(cursor.fetchone()[0])


def make_partition(span: PartitionSpan) -> bool:
    """Create a partition. Returns False if another process created one for this time first."""
    name = span.name
    begin = ids.first_uuid(span.begin)
    end = ids.first_uuid(span.end)
    with short_lock_transaction() as cursor:
        cursor.execute(f"LOCK TABLE {DEFAULT} IN ACCESS EXCLUSIVE MODE")
        if any(map(span.overlaps, list_partitions())):
            return False
        cursor.execute(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING ALL)")
        cursor.execute(
            f"WITH early AS (DELETE FROM {DEFAULT} WHERE id >= %s AND id < %s RETURNING *) "  # noqa: S608
            f"INSERT INTO {name} SELECT * FROM early",
            [begin, end],
        )
        cursor.execute(f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{begin}') TO ('{end}')")
    return True


def drop_before(month: datetime) -> list[str]:
    """Drop the partitions of earlier months and return their names. The default partition stays."""
    if not has_partitions():
        return []
    oldest = PartitionSpan.of_month(month).name
    dropped = sorted(name for name in list_partitions() - {DEFAULT} if name < oldest)
    for name in dropped:
        until_unlocked(partial(drop_partition, name))
    return dropped


def drop_partition(name: str) -> None:
    with short_lock_transaction() as cursor:
        cursor.execute(f"DROP TABLE {name}")
