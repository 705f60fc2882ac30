"""Recomputing the rollups from the events and the ledger, beside a service that goes on recording.

What differs is found in one statement (analytics.rollups.drift) and added in short transactions, to rows in the order
in which the recorder gets to them. An interrupted rebuild leaves no row worse than it was; run again, it does the
rest.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import Min, Model

from analytics import models
from analytics.events.retention import alone, horizon
from analytics.rollups import drift
from analytics.rollups.drift import Dialect, Difference
from analytics.rollups.upserts import adapted, month_number, prepared
from analytics.windows import YEARS, bucket_after, floor

CHUNK = 1_000  # rows that a transaction holds
TABLE = "analytics_difference"
T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """A rollup of an account in a month or a year, and how many of its rows differed."""

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
    """Correct the accounts' rollups from the month of `since` on; return the steps in which rows differed.

    Without `apply` nothing is written. `show` is called after each step. Months with purged events keep their figures.
    Raises ValidationError if a rebuild or a purge is running.
    """
    differing = []
    with alone():
        purged = horizon()
        for account in accounts:
            for period, difference in steps(account, since, purged):
                step = Step(
                    account, period, difference.rollup.removeprefix("analytics_"), settle(difference, account, apply)
                )
                if step.rows:
                    differing.append(step)
                if show:
                    show(step)
    return differing


def steps(account: str, since: datetime | None, purged: datetime | None) -> Iterator[tuple[str, Difference]]:
    dialect, key = Dialect(connection.vendor), prepared(models.HourlyUsage, "account_id", account)
    coming = months(account, since)
    month = next(coming, None)
    while month is not None:
        name = f"{month:%Y-%m}"
        if not purged or month >= purged:
            yield name, drift.hourly(key, month, dialect)
            yield name, drift.monthly("content", key, month, dialect)
            yield name, drift.monthly("requester", key, month, dialect)
        for one in ("tier", "requester", "content"):
            yield name, drift.revenue(one, key, month, dialect)
        following = next(coming, None)
        if following is None or following.year > month.year:
            for one in ("content", "requester"):
                if not purged or datetime(month.year + 1, 1, 1, tzinfo=UTC) > purged:
                    yield f"{month.year}", drift.yearly(one, key, month.year, purged, dialect)
                if connection.vendor == "postgresql":
                    yield f"{month.year}", drift.revenue_year(one, key, month.year, dialect)
        month = following


def months(account: str, since: datetime | None) -> Iterator[datetime]:
    """The months from that of `since` on of which there are events, entries or figures, oldest first.

    Empty months are skipped: a licence may begin centuries from now. A year that has only totals of years comes by its
    last month. Months past the years of reports are left out.
    """
    of_years = (models.ContentYear, models.RequesterYear, models.ContentRevenueYear, models.RequesterRevenueYear)
    owned = (model._default_manager.filter(account_id=account) for model in of_years)
    years = {year for rows in owned for year in rows.values_list("year", flat=True).distinct()}
    begin = floor(since, "month") if since else datetime.min.replace(tzinfo=UTC)
    while (month := month_from(account, begin, years)) is not None and month.year < YEARS.stop:
        yield month
        years.discard(month.year)
        begin = bucket_after(month, "month")


def month_from(account: str, begin: datetime, years: Iterable[int]) -> datetime | None:
    """The first month from `begin` (a month) on with anything in it; `years` are those with something, too."""

    def first(column: str, least: T, *of_models: type[Model]) -> list[T]:
        later = {"account_id": account, f"{column}__gte": least}
        found = [model._default_manager.filter(**later).aggregate(first=Min(column))["first"] for model in of_models]
        return [one for one in found if one is not None]

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


def settle(difference: Difference, account: str, apply: bool) -> int:
    """Finds the rows that differ, and corrects them if `apply`; returns how many there are."""
    key = prepared(models.HourlyUsage, "account_id", account)
    with connection.cursor() as cursor:
        try:
            with transaction.atomic() if connection.vendor == "postgresql" else nullcontext():
                if connection.vendor == "postgresql":
                    cursor.execute("SELECT set_config('work_mem', '256MB', true), set_config('jit', 'off', true)")
                order = ", ".join(difference.keys)
                numbered = f"row_number() OVER (ORDER BY {order}) AS number, found.*"
                select = f"SELECT {numbered} FROM ({difference.select}) found"  # noqa: S608
                parameters = [adapted(value) for value in difference.parameters]
                cursor.execute(f"CREATE TEMPORARY TABLE {TABLE} AS {select}", parameters)
            cursor.execute(f"SELECT count(*) FROM {TABLE}")  # noqa: S608
            rows: int = cursor.fetchone()[0]
            if apply:
                for first in range(1, rows + 1, CHUNK):
                    cursor.execute(addition(difference), [key, first, first + CHUNK - 1])
        finally:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
    return rows


def addition(difference: Difference) -> str:
    """Adds the differences of a range of numbers. It commutes with what is recorded at the same time."""
    key = ["account_id", *difference.keys, *difference.constants]
    names = ", ".join([*key, *difference.values])
    values = ", ".join([*difference.keys, *map(str, difference.constants.values()), *difference.values])
    sums = ", ".join(f"{value} = kept.{value} + excluded.{value}" for value in difference.values)
    return f"""INSERT INTO {difference.rollup} AS kept ({names})
      SELECT %s, {values} FROM {TABLE} WHERE number BETWEEN %s AND %s ORDER BY number
      ON CONFLICT ({", ".join(key)}) DO UPDATE SET {sums}"""  # noqa: S608
