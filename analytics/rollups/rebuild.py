"""Recomputes the rollups from events and ledger while the service is recording.

One statement finds the differences (analytics.rollups.drift); short transactions add them, locking rows in the
recorder's order. An interrupted rebuild leaves no row worse than before, and can be repeated.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Min, Model

from analytics import models
from analytics.events.retention import exclusive_maintenance, recorded_since
from analytics.rollups.definitions import REVENUE, USAGE, adapt, month_number
from analytics.rollups.drift import DifferenceQuery, difference_query
from analytics.windows import YEARS, bucket_after, floor
from kit.storage.by_database import by_database
from kit.storage.loading import Parameter, prepare

CHUNK_ROWS = 1_000  # rows per transaction
TABLE = "analytics_difference"
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """An account's rollup in a month or year, and its number of differing rows."""

    account: str
    period: str  # 2026 or 2026-03
    rollup: str
    rows: int


def rebuild(
    accounts: list[str],
    *,
    since: datetime | None = None,
    apply: bool = True,
    show: Callable[[Step], object] | None = None,
) -> list[Step]:
    """Correct the accounts' rollups from the month of `since` on; return the steps with differences.

    `apply=False` only compares. `show` is called after each step. Months with events that are purged or only in the
    archive keep their figures. Raises ValidationError if a rebuild or purge is running.
    """
    differing = []
    with exclusive_maintenance():
        purged = recorded_since()
        for account in accounts:
            for period, difference in steps(account, since, purged):
                rows = correct_rollup(difference, account, apply)
                step = Step(account, period, difference.rollup.removeprefix("analytics_"), rows)
                if step.rows:
                    differing.append(step)
                if show:
                    show(step)
    return differing


def steps(account: str, since: datetime | None, purged: datetime | None) -> Iterator[tuple[str, DifferenceQuery]]:
    key = prepare(models.HourlyUsage, "account_id", account)
    remaining = months(account, since)
    month = next(remaining, None)
    while month is not None:
        for rollup in (*USAGE, *REVENUE):
            if not rollup.is_yearly and (rollup in REVENUE or not purged or month >= purged):
                yield f"{month:%Y-%m}", difference_query(rollup, key, month, bucket_after(month, "month"))
        next_month = next(remaining, None)
        if next_month is None or next_month.year > month.year:
            yield from yearly_steps(key, month.year, purged)
        month = next_month


def yearly_steps(key: Parameter, year: int, purged: datetime | None) -> Iterator[tuple[str, DifferenceQuery]]:
    begin = datetime(year, 1, 1, tzinfo=UTC)
    end = datetime(year + 1, 1, 1, tzinfo=UTC)
    for rollup in (*USAGE, *REVENUE):
        if not rollup.is_yearly:
            continue
        if rollup in REVENUE:
            yield f"{year}", difference_query(rollup, key, begin, end)
        elif not purged or end > purged:
            yield f"{year}", difference_query(rollup, key, begin, end, purged)


def months(account: str, since: datetime | None) -> Iterator[datetime]:
    """Yield the months with events, entries or figures, oldest first, from that of `since` on.

    Skips empty months, because a licence may begin centuries from now, and months beyond the years of reports. A year
    with only yearly totals is represented by its December.
    """
    year_models = (models.ContentYear, models.RequesterYear, models.ContentRevenueYear, models.RequesterRevenueYear)
    owned = (model._default_manager.filter(account_id=account) for model in year_models)
    years = {year for rows in owned for year in rows.values_list("year", flat=True).distinct()}
    begin = floor(since, "month") if since else datetime.min.replace(tzinfo=UTC)
    month = month_from(account, begin, years)
    while month is not None and month.year < YEARS.stop:
        yield month
        years.discard(month.year)
        month = month_from(account, bucket_after(month, "month"), years)


def month_from(account: str, begin: datetime, years: Iterable[int]) -> datetime | None:
    """Return the first month with data from `begin` (a month) on; `years` are those with yearly totals."""

    def first(column: str, minimum: T, *models_with_column: type[Model]) -> list[T]:
        later = {"account_id": account, f"{column}__gte": minimum}
        firsts = [
            model._default_manager.filter(**later).aggregate(first=Min(column))["first"]
            for model in models_with_column
        ]
        return [value for value in firsts if value is not None]

    days = first("day", begin.date(), models.TierRevenue, models.RequesterRevenue, models.ContentRevenue)
    numbers = first("month", month_number(begin), models.ContentMonth, models.RequesterMonth)
    moments = [
        *first("created", begin, models.AccessEvent),
        *first("hour", begin, models.HourlyUsage),
        *first("occurred_at", begin, models.LedgerEntry),
        *(datetime(day.year, day.month, 1, tzinfo=UTC) for day in days),
        *(datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC) for number in numbers),
        *(datetime(year, 12, 1, tzinfo=UTC) for year in years if year >= begin.year),
    ]
    return floor(min(moments), "month") if moments else None


@contextmanager
def in_memory(cursor: CursorWrapper) -> Iterator[None]:
    """Within the block, let PostgreSQL sort and group in memory, without JIT compilation."""
    with transaction.atomic():
        cursor.execute("SELECT set_config('work_mem', '256MB', true), set_config('jit', 'off', true)")
        yield


def correct_rollup(difference: DifferenceQuery, account: str, apply: bool) -> int:
    """Find the differing rows, correct them if `apply`, and return their number."""
    key = prepare(models.HourlyUsage, "account_id", account)
    with connection.cursor() as cursor:
        try:
            with by_database(postgresql=in_memory, sqlite=nullcontext)(cursor):
                order = ", ".join(difference.keys)
                numbered = f"row_number() OVER (ORDER BY {order}) AS number, found.*"
                select = f"SELECT {numbered} FROM ({difference.select}) found"  # noqa: S608
                parameters = [adapt(value) for value in difference.parameters]
                cursor.execute(f"CREATE TEMPORARY TABLE {TABLE} AS {select}", parameters)
            cursor.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608
            rows: int = cursor.fetchone()[0]
            if apply:
                for first in range(1, rows + 1, CHUNK_ROWS):
                    cursor.execute(addition_sql(difference), [key, first, first + CHUNK_ROWS - 1])
        finally:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    return rows


def addition_sql(difference: DifferenceQuery) -> str:
    """Return SQL that adds a range of differences. It commutes with concurrent recording."""
    key = ", ".join(["account_id", *difference.keys])
    columns = ", ".join([*difference.keys, *difference.values])
    sums = ", ".join(f"{value} = kept.{value} + excluded.{value}" for value in difference.values)
    return f"""INSERT INTO {difference.rollup} AS kept (account_id, {columns})
      SELECT %s, {columns} FROM {TABLE} WHERE number BETWEEN %s AND %s ORDER BY number
      ON CONFLICT ({key}) DO UPDATE SET {sums}"""  # noqa: S608
