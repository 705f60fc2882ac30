"""`totalCount`: exact where counting takes no longer than a second, otherwise an estimate that says so."""

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
from kit.storage.limited import TookTooLong, number_within

if TYPE_CHECKING:  # a name of the stubs alone
    from django.db.backends.utils import _ExecuteParameters

M = TypeVar("M", bound=Model)
SECONDS = 1.0
FIRST_STEP, GROWTH = 50_000, 4  # rows that SQLite counts before it looks at the clock, and how much further each time


class Counting(Enum):
    """What `count` asks for."""

    QUICK = None
    EXACT = "exact"
    NONE = "none"

    @property
    def seconds(self) -> float:
        """How long counting may take."""
        return float(settings.HEAVY_STATEMENT_SECONDS) if self is Counting.EXACT else SECONDS


COUNTINGS = [one.value for one in Counting if one.value is not None]


def counting_of(query: Mapping[str, str]) -> Counting:
    """Raises InvalidRequest for an unknown value of `count`."""
    text = query.get("count")
    if text is not None and text not in COUNTINGS:
        raise InvalidRequest(f"count must be one of: {', '.join(COUNTINGS)}.", param="count")
    return Counting(text)


class Total(Struct, frozen=True):
    """A number of rows; an estimate unless `is_exact`."""

    number: int
    is_exact: bool = True

    def at_least(self, known: int) -> "Total":
        """An estimate is never less than the rows that are known."""
        return self if self.is_exact or self.number >= known else Total(known, is_exact=False)

    def shown(self) -> dict[str, object]:
        return {"totalCount": self.number, **({} if self.is_exact else {"totalCountIsExact": False})}


def count_rows(queryset: QuerySet[M], seconds: float) -> Total:
    """Count a queryset's rows; estimate them if that takes longer.

    The ORM's own count takes three times as long to say it in SQL; the database runs it as it runs this.
    """
    try:
        sql, parameters = queryset.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:
        return Total(0)
    if connection.vendor == "sqlite":
        return count_in_steps(sql, parameters, seconds)
    try:
        return Total(count_of(sql, parameters, seconds))
    except TookTooLong:
        return Total(planned_rows(sql, parameters), is_exact=False)


def count_of(sql: str, parameters: "_ExecuteParameters", seconds: float) -> int:
    return number_within(seconds, f"SELECT count(*) FROM ({sql}) AS found", parameters)  # noqa: S608 - the ORM's


def planned_rows(sql: str, parameters: "_ExecuteParameters") -> int:
    """The number of rows that PostgreSQL expects by its statistics."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}", parameters)
        [[plan]] = cursor.fetchall()
    [found] = orjson.loads(plan) if isinstance(plan, str | bytes) else plan
    return int(found["Plan"]["Plan Rows"])


def count_in_steps(sql: str, parameters: "_ExecuteParameters", seconds: float) -> Total:
    """Count more and more rows until there are no further ones or the time is over.

    SQLite has no statistics to estimate by; what was counted by then is the estimate.
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
