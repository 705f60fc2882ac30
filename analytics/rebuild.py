"""Recomputing the rollups from the events and the ledger, beside a service that goes on recording.

What differs is found in one statement (analytics.differences) and added in short transactions, to rows in the order in
which the recorder gets to them. An interrupted rebuild leaves no row worse than it was; run again, it does the rest.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Min
from django.utils import timezone

from analytics import differences, models
from analytics.differences import Dialect, Difference
from analytics.retention import alone, horizon
from analytics.rollups import adapted, prepared
from analytics.windows import bucket_after, floor

CHUNK = 1_000  # rows that a transaction holds
TABLE = "analytics_difference"


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
    show: Callable[[Step], Any] | None = None,
) -> list[Step]:
    """Corrects the accounts' rollups from the month of `since` on; returns the steps in which rows differed.

    Without `apply` only looks. Calls `show` after each step. Months whose events were purged keep what they have.
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
    found = span(account)
    if found is None:
        return
    month, last = max(floor(found[0], "month"), floor(since, "month")) if since else floor(found[0], "month"), found[1]
    while month <= last:
        name, following = f"{month:%Y-%m}", bucket_after(month, "month")
        if not purged or month >= purged:
            yield name, differences.hourly(key, month, dialect)
            yield name, differences.monthly("content", key, month, dialect)
            yield name, differences.monthly("requester", key, month, dialect)
        for one in ("tier", "requester", "content"):
            yield name, differences.revenue(one, key, month, dialect)
        if following.year > month.year or following > last:
            for one in ("content", "requester"):
                if not purged or following > purged:
                    yield f"{month.year}", differences.yearly(one, key, month.year, purged, dialect)
                if connection.vendor == "postgresql":
                    yield f"{month.year}", differences.revenue_year(one, key, month.year, dialect)
        month = following


def span(account: str) -> tuple[datetime, datetime] | None:
    """The first and the last moment of which there are events, entries or figures."""

    def of(column: str, *of_models: Any) -> list[Any]:
        return [end for model in of_models for end in ends(model, account, column)]

    moments = (
        of("created", models.AccessEvent) + of("hour", models.HourlyUsage) + of("occurred_at", models.LedgerEntry)
    )
    for number in of("month", models.ContentMonth, models.RequesterMonth):
        moments.append(datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC))
    of_years = (models.ContentYear, models.RequesterYear, models.ContentRevenueYear, models.RequesterRevenueYear)
    for year in of("year", *of_years):
        moments.append(datetime(year, 1, 1, tzinfo=UTC))  # a year's rows are looked at with its last month
    for day in of("day", models.TierRevenue, models.RequesterRevenue, models.ContentRevenue):
        moments.append(datetime(day.year, day.month, day.day, tzinfo=UTC))
    return (min(moments), max(*moments, timezone.now())) if moments else None


def ends(model: Any, account: str, column: str) -> list[Any]:
    found = model.objects.filter(account_id=account).aggregate(first=Min(column), last=Max(column))
    return [] if found["first"] is None else [found["first"], found["last"]]


def settle(difference: Difference, account: str, apply: bool) -> int:
    """Finds the rows that differ, and adds what they lack if told to; returns how many there are."""
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
