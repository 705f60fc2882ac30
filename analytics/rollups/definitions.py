"""The rollups: what each sums up, and the SQL that adds recorded rows to them.

Decisions and entries are added by a roll-up, by SQLite's recorder and by a rebuild. Each has a SELECT of rows with
`account_id`, the subjects, a number or amount `n`, and the dates of `dates`.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from django.db import connection

from analytics.models.usage import DAYS, MONTHS, HourlyUsage
from kit.storage.adding import add_excluded
from kit.storage.by_database import by_database
from kit.storage.loading import Parameter, prepare

# SQL for the dates of a moment. `month` is the number that analytics.models.usage.Monthly has.
POSTGRESQL_DATES = {
    "hour": "date_trunc('hour', {0}, 'UTC')",
    "day": "({0} AT TIME ZONE 'UTC')::date",
    "year": "date_part('year', {0} AT TIME ZONE 'UTC')::int",
    "month": "(date_part('year', {0} AT TIME ZONE 'UTC') * 12 + date_part('month', {0} AT TIME ZONE 'UTC') - 1)::int",
    "month_of_year": "date_part('month', {0} AT TIME ZONE 'UTC')::int",
    "day_of_month": "date_part('day', {0} AT TIME ZONE 'UTC')::int",
}
SQLITE_DATES = {
    "hour": "substr({0}, 1, 13) || ':00:00'",
    "day": "substr({0}, 1, 10)",
    "year": "CAST(substr({0}, 1, 4) AS INTEGER)",
    "month": "CAST(substr({0}, 1, 4) AS INTEGER) * 12 + CAST(substr({0}, 6, 2) AS INTEGER) - 1",
    "month_of_year": "CAST(substr({0}, 6, 2) AS INTEGER)",
    "day_of_month": "CAST(substr({0}, 9, 2) AS INTEGER)",
}
DATES = by_database(postgresql=POSTGRESQL_DATES, sqlite=SQLITE_DATES)


def dates(moment: str) -> str:
    """Return the columns with the dates of a moment (an SQL expression)."""
    return ", ".join(f"{sql.format(moment)} AS {name}" for name, sql in DATES.items())


# The columns of decisions and of entries of the ledger, as rollups take them. Their types are those of pending rows:
# otherwise PostgreSQL computes every date of both, and not only the used ones.
DECISION = f"""account_id, content_id, requester_id, CAST(coalesce(reason, '') AS text) AS outcome, 1 AS n,
  {dates("created")}"""
ENTRY = f"""account_id, content_id, requester_id, CAST(coalesce(license_type, '') AS text) AS license_type, currency,
  amount AS n, amount < 0 AS refund, {dates("occurred_at")}"""


class FirstParts(NamedTuple):
    """The lowest parts of a year and of a month that rows have. Running totals before them stay as they are."""

    month_of_year: int = 1
    day_of_month: int = 1

    @classmethod
    def of(cls, days: Collection[date]) -> "FirstParts":
        """Return those of rows of the days, at least one."""
        return cls(min(day.month for day in days), min(day.day for day in days))


EVERY_PART = FirstParts()


@dataclass(frozen=True)
class Rollup:
    """A table with sums of rows by account and `keys`, which begin with a date and end with the subject.

    `sums` has each column with the SQL of what it adds up. The columns of `running` have the sum of `n` from the start
    of a month or year to the end of each `part`.
    """

    name: str
    keys: tuple[str, ...]
    sums: tuple[tuple[str, str], ...] = ()
    running: tuple[str, ...] = ()
    part: str = ""

    @property
    def table(self) -> str:
        return f"analytics_{self.name}"

    @property
    def is_yearly(self) -> bool:
        return self.keys[0] == "year"

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(column for column, _ in self.sums) + self.running

    def running_from(self, first: FirstParts) -> dict[int, str]:
        """Return the running columns by part, from the first on."""
        if not self.running:
            return {}
        part = getattr(first, self.part)
        return dict(enumerate(self.running[part - 1 :], part))

    def totals(self, rows: str, first: FirstParts = EVERY_PART) -> str:
        """Return SQL for the account, keys and values of the rows. Rows without a subject are left out."""
        keys = ", ".join(["account_id", *self.keys])
        sums = [f"sum({value}) AS {column}" for column, value in self.sums]
        source = f"{rows} WHERE {self.keys[-1]} IS NOT NULL"
        if self.running:
            parts = ", ".join([keys, f"{self.part} AS part", "sum(n) AS n", *sums])
            source = f"(SELECT {parts} FROM {source} GROUP BY {keys}, {self.part}) parts"  # noqa: S608
            sums = [f"sum({column}) AS {column}" for column, _ in self.sums]
            for number, column in self.running_from(first).items():
                sums.append(f"sum(CASE WHEN part <= {number} THEN n ELSE 0 END) AS {column}")
        return f"SELECT {keys}, {', '.join(sums)} FROM {source} GROUP BY {keys}"  # noqa: S608 - made of constants

    def addition(self, rows: str, first: FirstParts = EVERY_PART) -> str:
        """Return the upsert that adds rows, in key order, so that concurrent writers do not deadlock.

        `first`: what the rows have. The fewer columns are left, the cheaper the upsert.
        """
        keys = ", ".join(["account_id", *self.keys])
        values = [column for column, _ in self.sums] + list(self.running_from(first).values())
        return f"""INSERT INTO {self.table} AS u ({keys}, {", ".join(values)})
{self.totals(rows, first)} ORDER BY {keys}
ON CONFLICT ({keys}) DO UPDATE SET {add_excluded(values)}"""


ALLOWED = "CASE outcome WHEN '' THEN n ELSE 0 END"


def yearly_usage(subject: str) -> Rollup:
    keys = ("year", f"{subject}_id")
    return Rollup(f"{subject}year", keys, (("allowed", ALLOWED),), tuple(MONTHS), "month_of_year")


def monthly_usage(subject: str) -> Rollup:
    return Rollup(f"{subject}month", ("month", f"{subject}_id"), (), tuple(DAYS), "day_of_month")


def daily_revenue(subject: str) -> Rollup:
    return Rollup(f"{subject}revenue", ("day", "currency", REVENUE_KEYS[subject]), (("amount", "n"),))


def yearly_revenue(subject: str) -> Rollup:
    keys = ("year", "currency", "refund", f"{subject}_id")
    return Rollup(f"{subject}revenueyear", keys, (), tuple(MONTHS), "month_of_year")


REVENUE_KEYS = {"content": "content_id", "requester": "requester_id", "tier": "license_type"}
# Writers lock the rollups in this order.
USAGE = (
    Rollup("hourlyusage", ("hour", "outcome"), (("requests", "n"),)),
    yearly_usage("content"),
    monthly_usage("content"),
    yearly_usage("requester"),
    monthly_usage("requester"),
)
REVENUE: tuple[Rollup, ...] = (daily_revenue("content"), daily_revenue("requester"), daily_revenue("tier"))
if connection.vendor == "postgresql":
    REVENUE = (
        daily_revenue("content"),
        yearly_revenue("content"),
        daily_revenue("requester"),
        yearly_revenue("requester"),
        daily_revenue("tier"),
    )


def month_number(day: date) -> int:
    """Return the month's number as in analytics.models.usage.Monthly."""
    return day.year * 12 + day.month - 1


def adapt(value: Parameter) -> Parameter:
    """Convert dates and times to the form that the database compares."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return connection.ops.adapt_datefield_value(value) if isinstance(value, date) else value


def accounts_condition(accounts: Sequence[str]) -> tuple[str, list[Parameter]]:
    """Return the condition for rows of these accounts (ids, at least one), and its parameters."""
    keys: list[Parameter] = [prepare(HourlyUsage, "account_id", account) for account in accounts]
    return f"account_id IN ({', '.join(['%s'] * len(keys))})", keys
