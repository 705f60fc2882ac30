"""Read a long filtered list in growing windows of time (PostgreSQL).

Two plans are slow: sorting all matches of a frequent value, and reading in order until enough matches of a rare value
are found. PostgreSQL chooses by its statistics, which are outdated after many writes and ignore that filters depend on
each other.

The first windows are so small that any plan is fast. If they have too few matches, matches are rare. So the matches of
a longer window are counted first. PostgreSQL plans that for the whole window, not in the hope of an early match, and
can use a summary (kit.storage.summaries).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from time import monotonic
from typing import TypeVar

from django.core.exceptions import EmptyResultSet
from django.db.models import Model, QuerySet
from msgspec import Struct

from kit.rest.lists.orders import Moments, Order, Position
from kit.rest.pagination import KeysetPagination
from kit.storage.replica import reading_connection

FIRST_ROWS = 200  # rows in the first window, matching or not: so few that they are read by the index
GROWTH = 4  # of each further window's length
SHORT = GROWTH**3  # first windows: a window of at most this length is read in order
FEW = 500  # matches that are sorted here
# A window that takes this long is followed by one of its length. A search without an index takes long in all, but no
# statement of it comes near the time limit (kit.statements).
SLOW_SECONDS = 0.5
M = TypeVar("M", bound=Model)


class Window(Struct, frozen=True):
    """A stretch of a list in its order, from `begin` up to `end` (excluded), or to the list's end."""

    order: Order
    begin: datetime | None
    end: datetime | None = None
    first: timedelta | None = None  # the length of the list's first window, which itself has None

    @property
    def is_short(self) -> bool:
        if self.first is None or self.begin is None or self.end is None:
            return True
        return abs(self.end - self.begin) <= SHORT * abs(self.first)

    def of(self, rows: QuerySet[M]) -> QuerySet[M]:
        behind, until = ("lte", "gt") if self.order.descending else ("gte", "lt")
        if self.begin is not None:
            rows = rows.filter(**{f"{self.order.field}__{behind}": self.begin})
        if self.end is not None:
            rows = rows.filter(**{f"{self.order.field}__{until}": self.end})
        return rows

    def parts(self) -> "Iterator[Window]":
        """Divide a window that has both bounds."""
        if self.begin is None or self.end is None:
            raise ValueError("A window without bounds cannot be divided.")
        begin, step = self.begin, (self.end - self.begin) / GROWTH
        for _ in range(GROWTH - 1):
            yield Window(self.order, begin, begin + step, self.first)
            begin += step
        yield Window(self.order, begin, self.end, self.first)


class WindowedPagination(KeysetPagination):
    """Reads in windows if `every` is set: rows that include all matches and are read in order by an index."""

    every: QuerySet[Model] | None = None

    def read(self, rows: QuerySet[M], order: Order, size: int, after: Position | None = None) -> list[M]:
        if self.every is None or order.kind is not Moments:
            return super().read(rows, order, size, after)
        if after is not None:
            rows = order.after(rows, after)
        found: list[M] = []
        for window in windows(self.every, order, None if after is None else after.value):
            found += self.read_window(rows, window, size - len(found))
            if len(found) == size:
                break
        return found

    def read_window(self, rows: QuerySet[M], window: Window, size: int) -> list[M]:
        """Return the first rows of a window."""
        inside = window.of(rows)
        if window.is_short:
            return super().read(inside, window.order, size)
        matches = count_up_to(FEW, inside)
        if matches == 0:
            return []
        if matches < FEW:
            keys = sorted(inside.order_by().values_list(window.order.field, "pk"), reverse=window.order.descending)
            return super().read(inside.filter(pk__in=[key for _, key in keys[:size]]), window.order, size)
        found: list[M] = []
        for part in window.parts():
            found += self.read_window(rows, part, size - len(found))
            if len(found) == size:
                break
        return found


def windows(every: QuerySet[Model], order: Order, begin: datetime | None) -> Iterator[Window]:
    """Yield windows of increasing length that together have all rows from `begin` on. Each is read before the next."""
    sign = "-" if order.descending else ""
    moments = every.order_by(f"{sign}{order.field}").values_list(order.field, flat=True)
    following = Window(order, begin).of(moments)
    edge = next(iter(following[FIRST_ROWS : FIRST_ROWS + 1]), None)
    if edge is None:
        yield Window(order, begin)
        return
    yield Window(order, begin, edge)
    start, last = begin or moments.first(), moments.reverse().first()
    if start is None:  # all rows have been deleted since
        return
    first = length = edge - start
    seconds = 0.0
    while length and (last < edge if order.descending else last > edge):
        if seconds < SLOW_SECONDS:
            length *= GROWTH
        began = monotonic()
        yield Window(order, edge, edge + length, first)
        seconds = monotonic() - began
        edge += length
    yield Window(order, edge)


def count_up_to(limit: int, rows: QuerySet[M]) -> int:
    """Count rows, but stop at `limit`. PostgreSQL plans the search as if it had to find all of them."""
    try:
        sql, parameters = rows.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:
        return 0
    with reading_connection().cursor() as cursor:
        cursor.execute(
            f"WITH found AS MATERIALIZED ({sql}) "  # noqa: S608 - the ORM's
            f"SELECT count(*) FROM (SELECT 1 FROM found LIMIT {limit:d}) AS counted",
            parameters,
        )
        return int(cursor.fetchone()[0])
