"""Monthly partitions of the events on PostgreSQL, so that old months can be dropped and recent ones stay in memory.

Events are partitioned by id, whose first 48 bits are the millisecond of recording (UUIDv7). Partitions are created in
advance; events without one go to the default partition and are moved when theirs is created. SQLite uses one table.

Creating and dropping a partition needs a table for itself. Both wait for it only briefly (kit.storage.lock_waits), so
that checks and lists do not queue up behind them while a long report is read.
"""

from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from django.db import connection, transaction

from kit.storage.lock_waits import short_lock_waits, until_unlocked

TABLE = "analytics_accessevent"
DEFAULT = f"{TABLE}_default"
MONTHS_AHEAD = 3


def month_after(month: datetime, months: int = 1) -> datetime:
    years, index = divmod(month.month - 1 + months, 12)
    return month.replace(year=month.year + years, month=index + 1)


def month_of(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def first_id(moment: datetime) -> UUID:
    """Return the smallest id of that millisecond, or of 1970 for earlier times."""
    return UUID(int=max(0, int(moment.timestamp() * 1000)) << 80)


def name_of(month: datetime) -> str:
    return f"{TABLE}_{month:%Y_%m}"


def list_partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [TABLE])
        return {name for (name,) in cursor.fetchall()}


def ensure_partitions(now: datetime, months_ahead: int = MONTHS_AHEAD) -> list[str]:
    """Create the missing partitions of this month and the next ones; return their names.

    Safe to run concurrently in several processes and during recording.
    """
    if connection.vendor != "postgresql":
        return []
    made = []
    for ahead in range(months_ahead + 1):
        month = month_after(month_of(now), ahead)
        if name_of(month) in list_partitions():
            continue
        with short_lock_waits(connection):
            if until_unlocked(partial(make_partition, month)):
                made.append(name_of(month))
    return made


@transaction.atomic
def make_partition(month: datetime) -> bool:
    """Create a partition. Returns False if another process created it first."""
    name, begin, end = name_of(month), first_id(month), first_id(month_after(month))
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {DEFAULT} IN ACCESS EXCLUSIVE MODE")
        if name in list_partitions():
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
    oldest = name_of(month)
    dropped = sorted(name for name in list_partitions() - {DEFAULT} if name < oldest)
    with short_lock_waits(connection), connection.cursor() as cursor:
        for name in dropped:
            cursor.execute(f"DROP TABLE {name}")
    return dropped
