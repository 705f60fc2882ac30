"""The SQL that adds to the rollups: an upsert for each, fed by `source`.

A source has each key once, in key order, so that concurrent writers do not deadlock.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TypeVar

from django.db import connection

from analytics.models.usage import DAYS, MONTHS, HourlyUsage
from kit.storage.adding import add_excluded
from kit.storage.prepared import Parameter, prepare

Count = TypeVar("Count")

HOURLY = """
INSERT INTO analytics_hourlyusage AS u (account_id, hour, outcome, requests)
{source}
ON CONFLICT (account_id, hour, outcome) DO UPDATE SET requests = u.requests + excluded.requests
"""
REVENUE = """
INSERT INTO analytics_{subject}revenue AS u (account_id, day, currency, {key}, amount)
{source}
ON CONFLICT (account_id, day, currency, {key}) DO UPDATE SET amount = u.amount + excluded.amount
"""
# The revenue rollups in locking order, each first by day, then by year.
REVENUE_KEYS = {"content": "content_id", "requester": "requester_id", "tier": "license_type"}
YEARLY_REVENUE = ("content", "requester")


def revenue_of_years(subject: str, rows: str = "one") -> str:
    """Return the upsert of yearly revenue; `subject` is content or requester.

    Adds up `rows` with the columns account, day, currency, id (or NULL) and amount.
    """
    months = (f"sum(CASE WHEN extract(month FROM day) <= {number} THEN amount ELSE 0 END)" for number in range(1, 13))
    key = f"account_id, {subject}_id, year, currency, refund"
    return f"""INSERT INTO analytics_{subject}revenueyear AS u ({key}, {", ".join(MONTHS)})
SELECT account_id, {subject}_id, extract(year FROM day)::smallint, currency, amount < 0, {", ".join(months)}
FROM {rows} WHERE {subject}_id IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
ON CONFLICT ({key}) DO UPDATE SET {add_excluded(MONTHS)}"""  # noqa: S608 - made of constants


def yearly(subject: str, month: int, source: str) -> str:
    """Return the upsert of yearly usage; `subject` is content or requester.

    `source` has the columns account, year, id, allowed, and the `running` counts.
    """
    return f"""
INSERT INTO analytics_{subject}year AS u (account_id, year, {subject}_id, allowed, {", ".join(MONTHS[month - 1 :])})
{source}
ON CONFLICT (account_id, {subject}_id, year) DO UPDATE SET {add_excluded(["allowed", *MONTHS[month - 1 :]])}"""


def monthly(subject: str, day: int, source: str) -> str:
    """Return the upsert of monthly usage; `subject` is content or requester.

    `source` has the columns account, month, id, and the `running` counts.
    """
    return f"""
INSERT INTO analytics_{subject}month AS u (account_id, month, {subject}_id, {", ".join(DAYS[day - 1 :])})
{source}
ON CONFLICT (account_id, month, {subject}_id) DO UPDATE SET {add_excluded(DAYS[day - 1 :])}"""


def running_totals(count: Count, columns: Sequence[str], first: int) -> list[Count]:
    """Return the count for column number `first` and every later one, as running totals need it."""
    return [count] * (len(columns) - first + 1)


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
