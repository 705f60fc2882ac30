"""Usage by the days of a time zone: hours of UTC are added up, and hours in which a bucket begins are divided."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from analytics.rollups.definitions import accounts_condition, adapt
from analytics.usage.report_sql import dialect
from analytics.windows import MICROSECOND, Window, floor
from kit.storage.loading import Parameter
from kit.storage.replica import reading_connection

HOUR = timedelta(hours=1)
Counts = tuple[int, int]  # decisions, allowed ones


def add_up(accounts: Sequence[str], window: Window, hours: dict[datetime, Counts]) -> dict[datetime, Counts]:
    """Return the counts of a window's buckets, given those of hours of UTC."""
    sums: defaultdict[datetime, Counts] = defaultdict(lambda: (0, 0))

    def add(bucket: datetime, counts: Counts, sign: int = 1) -> None:
        before = sums[bucket]
        sums[bucket] = (before[0] + sign * counts[0], before[1] + sign * counts[1])

    for hour, counts in hours.items():
        add(window.bucket_start(min(hour + HOUR, window.end) - MICROSECOND), counts)
    for bucket, counts in counts_before(accounts, window).items():
        add(bucket, counts, -1)
        add(window.bucket_start(bucket - MICROSECOND), counts)
    return sums


def counts_before(accounts: Sequence[str], window: Window) -> dict[datetime, Counts]:
    """Count the decisions from the beginning of an hour of UTC to that of the bucket that begins within it."""
    bucket_by_hour = {
        max(floor(bucket, "hour"), window.start): bucket
        for bucket in window.buckets()
        if bucket.minute and window.start < bucket < window.end
    }
    sums_sql = "count(*), sum(CASE coalesce(reason, '') WHEN '' THEN 1 ELSE 0 END)"
    rows = sums_of_parts(accounts, bucket_by_hour, "analytics_accessevent", "created", sums_sql)
    return {after: (int(requests), int(allowed)) for after, requests, allowed in rows}


def sums_of_parts(
    accounts: Sequence[str],
    parts: Mapping[datetime, datetime],
    table: str,
    time_column: str,
    sums_sql: str,
    group_sql: str = "",
) -> list[tuple[datetime, Any, Any]]:
    """Return the sums over the table's rows of each part of time. `parts` are ends by beginnings.

    `sums_sql` and `group_sql` are lists of SQL expressions; the latter ends with a comma.
    """
    if not parts:
        return []
    condition, owners = accounts_condition(accounts)
    ranges = ", ".join([dialect().range] * len(parts))
    edges: list[Parameter] = [edge for pair in parts.items() for edge in pair]
    statement = f"""WITH part (first, after) AS (VALUES {ranges})
        SELECT part.after, {group_sql}{sums_sql}
        FROM part JOIN (SELECT * FROM {table} WHERE {condition}) entry
          ON entry.{time_column} >= part.first AND entry.{time_column} < part.after
        GROUP BY {group_sql}part.after"""  # noqa: S608 - made of constants
    with reading_connection().cursor() as cursor:
        cursor.execute(statement, [*map(adapt, edges), *owners])
        return [(as_moment(after), first, second) for after, first, second in cursor.fetchall()]


def as_moment(stored: datetime | str) -> datetime:
    if isinstance(stored, str):
        return datetime.fromisoformat(stored).replace(tzinfo=UTC)
    return stored.astimezone(UTC)
