"""The SQL that adds to the rollups: an upsert for each, from whatever rows `source` brings.

A source brings each key once, and in the key's order: writers that meet then wait for each other in turn.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Field, ForeignKey, Model

from analytics.models.usage import DAYS, MONTHS, HourlyUsage

Count = TypeVar("Count")
# A value of an SQL statement, as the databases' drivers take it.
Parameter: TypeAlias = int | Decimal | str | bytes | date | UUID | list[Any] | None

HOURLY = """
INSERT INTO analytics_hourlyusage AS u (account_id, hour, outcome, requests)
{source}
ON CONFLICT (account_id, hour, outcome) DO UPDATE SET requests = u.requests + excluded.requests
"""
REVENUE = """
INSERT INTO analytics_{one}revenue AS u (account_id, day, currency, {key}, amount)
{source}
ON CONFLICT (account_id, day, currency, {key}) DO UPDATE SET amount = u.amount + excluded.amount
"""
# The revenue rollups in the order in which every transaction locks them: each by day, then by year.
REVENUE_KEYS = {"content": "content_id", "requester": "requester_id", "tier": "license_type"}
YEARLY_REVENUE = ("content", "requester")


def revenue_of_years(one: str, rows: str = "one") -> str:
    """`one` is content or requester. Adds up `rows`: account, day, currency, id (or NULL) and amount."""
    months = (f"sum(CASE WHEN extract(month FROM day) <= {number} THEN amount ELSE 0 END)" for number in range(1, 13))
    key = f"account_id, {one}_id, year, currency, refund"
    return f"""INSERT INTO analytics_{one}revenueyear AS u ({key}, {", ".join(MONTHS)})
SELECT account_id, {one}_id, extract(year FROM day)::smallint, currency, amount < 0, {", ".join(months)}
FROM {rows} WHERE {one}_id IS NOT NULL GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
ON CONFLICT ({key}) DO UPDATE SET {added(MONTHS)}"""  # noqa: S608 - made of constants


def yearly(one: str, month: int, source: str) -> str:
    """`one` is content or requester. The source brings account, year, id, allowed and `running` counts."""
    return f"""
INSERT INTO analytics_{one}year AS u (account_id, year, {one}_id, allowed, {", ".join(MONTHS[month - 1 :])})
{source}
ON CONFLICT (account_id, {one}_id, year) DO UPDATE SET {added(["allowed", *MONTHS[month - 1 :]])}"""


def monthly(one: str, day: int, source: str) -> str:
    """`one` is content or requester. The source brings account, month, id and `running` counts."""
    return f"""
INSERT INTO analytics_{one}month AS u (account_id, month, {one}_id, {", ".join(DAYS[day - 1 :])})
{source}
ON CONFLICT (account_id, month, {one}_id) DO UPDATE SET {added(DAYS[day - 1 :])}"""


def added(columns: Sequence[str]) -> str:
    return ", ".join(f"{column} = u.{column} + excluded.{column}" for column in columns)


def running(count: Count, columns: Sequence[str], first: int) -> list[Count]:
    """The count of the column of that number, for it and all that come after it."""
    return [count] * (len(columns) - first + 1)


def month_number(day: date) -> int:
    """As in analytics.models.usage.Monthly."""
    return day.year * 12 + day.month - 1


def prepared(model: type[Model], column: str, value: object) -> Parameter:
    """The value as it is stored: an id's text as its 16 bytes."""
    field = model._meta.get_field(column.removesuffix("_id"))
    if isinstance(field, ForeignKey):
        field = field.target_field
    if not isinstance(field, Field):
        raise TypeError(f"{model.__name__} has no column {column}.")
    return field.get_db_prep_value(value, connection)


def adapted(value: Parameter) -> Parameter:
    """A parameter of SQL; a date or a moment as the database compares it."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return connection.ops.adapt_datefield_value(value) if isinstance(value, date) else value


def owned(accounts: Sequence[str]) -> tuple[str, list[Parameter]]:
    """The condition that rows are of one of these accounts (ids, at least one), with its parameters."""
    keys: list[Parameter] = [prepared(HourlyUsage, "account_id", account) for account in accounts]
    return f"account_id IN ({', '.join(['%s'] * len(keys))})", keys
