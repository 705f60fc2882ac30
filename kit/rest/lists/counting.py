"""`totalCount`: exact if counting takes up to one second, otherwise marked as an estimate."""

from collections.abc import Mapping
from enum import Enum
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

import orjson
from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import Model, QuerySet
from msgspec import Struct

from kit.http.errors import InvalidRequest
from kit.storage.by_database import by_database
from kit.storage.limited import TookTooLong, number_within

if TYPE_CHECKING:  # exists only in the type stubs
    from django.db.backends.utils import _ExecuteParameters

M = TypeVar("M", bound=Model)
SECONDS = 1.0
# rows that SQLite counts before the first look at the clock, and the growth of each further step
FIRST_STEP, GROWTH = 50_000, 4


class CountMode(Enum):
    """The values of the `count` parameter."""

    QUICK = None
    EXACT = "exact"
    NONE = "none"

    @property
    def seconds(self) -> float:
        """The time limit for counting."""
        return float(settings.HEAVY_STATEMENT_SECONDS) if self is CountMode.EXACT else SECONDS


COUNTINGS = [one.value for one in CountMode if one.value is not None]


def counting_of(query: Mapping[str, str]) -> CountMode:
    """Return the requested way of counting. Raises InvalidRequest for an unknown value."""
    text = query.get("count")
    if text is not None and text not in COUNTINGS:
        raise InvalidRequest(f"count must be one of: {', '.join(COUNTINGS)}.", param="count")
    return CountMode(text)


class Total(Struct, frozen=True):
    """A number of rows, exact or estimated."""

    number: int
    is_exact: bool = True

    def at_least(self, known: int) -> "Total":
        """Return a total of at least `known` rows."""
        return self if self.is_exact or self.number >= known else Total(known, is_exact=False)

    def shown(self) -> dict[str, object]:
        return {"totalCount": self.number, **({} if self.is_exact else {"totalCountIsExact": False})}


def count_rows(queryset: QuerySet[M], seconds: float) -> Total:
    """Count a queryset's rows; estimate them if that takes longer than `seconds`.

    Builds the SQL itself, because compiling the ORM's count() takes three times as long for the same statement.
    """
    try:
        sql, parameters = queryset.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:
        return Total(0)
    count = by_database(postgresql=count_or_plan, sqlite=count_in_steps)
    return count(sql, parameters, seconds)


def count_or_plan(sql: str, parameters: "_ExecuteParameters", seconds: float) -> Total:
    try:
        return Total(count_of(sql, parameters, seconds))
    except TookTooLong:
        return Total(planned_rows(sql, parameters), is_exact=False)


def count_of(sql: str, parameters: "_ExecuteParameters", seconds: float) -> int:
    return number_within(seconds, f"SELECT count(*) FROM ({sql}) AS found", parameters)  # noqa: S608 - the ORM's


def planned_rows(sql: str, parameters: "_ExecuteParameters") -> int:
    """Return the number of rows that PostgreSQL's planner expects."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", parameters)
        [[plan]] = cursor.fetchall()
    [found] = orjson.loads(plan) if isinstance(plan, str | bytes) else plan
    return int(found["Plan"]["Plan Rows"])


def count_in_steps(sql: str, parameters: "_ExecuteParameters", seconds: float) -> Total:
    """Count in growing steps until all rows are counted or time is up.

    SQLite has no statistics for an estimate, so the rows counted so far are the estimate.
    """
    end, counted, step = monotonic() + seconds, 0, FIRST_STEP
    while True:
        try:
            counted = count_of(f"{sql} LIMIT {step}", parameters, max(end - monotonic(), 0))
        except TookTooLong:
            return Total(counted, is_exact=False)
        if counted < step:
            return Total(counted)
        step *= GROWTH
