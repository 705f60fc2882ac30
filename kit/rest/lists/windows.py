"""Reading a long list in growing windows of time, whatever PostgreSQL expects of the filters.

Expecting few rows to match, PostgreSQL collects and sorts all that do. Reading the newest rows first would find enough
at once. Its expectation is wrong after many writes, and for filters that depend on each other. A window is so small
that either way is fast.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet

from kit.rest.lists.orders import Order
from kit.rest.pagination import KeysetPagination

FIRST_ROWS = 200  # rows in the first window, matching or not: so few that they are read by the index
GROWTH = 4  # of each further window's length
M = TypeVar("M", bound=Model)


class WindowedPagination(KeysetPagination):
    """Reads in windows if `every` is set: all rows that the filters choose from, without the filters."""

    every: QuerySet[Model] | None = None

    def read(self, rows: QuerySet[M], order: Order, size: int, begin: object = None) -> list[M]:
        if self.every is None:
            return super().read(rows, order, size, begin)
        found: list[M] = []
        for window in self.windows(rows, self.every, order, begin):
            found += super().read(window, order, size - len(found))
            if len(found) == size:
                break
        return found

    def windows(self, rows: QuerySet[M], every: QuerySet[Model], order: Order, begin: object) -> Iterator[QuerySet[M]]:
        """Yield parts of the rows, in order. Together they are all rows from `begin` on."""
        field, sign = order.field, "-" if order.descending else ""
        behind, until = (f"{field}__lte", f"{field}__gt") if order.descending else (f"{field}__gte", f"{field}__lt")
        moments = every.order_by(f"{sign}{field}").values_list(field, flat=True)
        first = begin if isinstance(begin, datetime) else moments.first()
        following = moments if begin is None else moments.filter(**{behind: begin})
        edge = next(iter(following[FIRST_ROWS : FIRST_ROWS + 1]), None)
        if first is None or edge is None:
            yield rows
            return
        last = moments.reverse().first()
        length = edge - first
        yield rows.filter(**{until: edge})
        while length and (last < edge if order.descending else last > edge):
            length *= GROWTH
            further = edge + length
            yield rows.filter(**{behind: edge, until: further})
            edge = further
        yield rows.filter(**{behind: edge})
