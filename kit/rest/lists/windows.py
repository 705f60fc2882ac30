"""Read a long filtered list in growing windows of time (PostgreSQL).

Two plans are slow: sorting all matches of a frequent value, and reading in order until enough matches of a rare value
are found. PostgreSQL chooses by its statistics, which are outdated after many writes and ignore that filters depend on
each other.

The first windows have so few rows that they are read in order. If these have too few matches, matches are rare. So the
positions of a longer window's matches are searched first. PostgreSQL plans that for the whole window, not in the hope
of an early match, and can use a summary (kit.storage.summaries).

A longer window can have any number of rows, for example those of an import. A search that takes too long is therefore
given up, and the window is read in parts of a known number of rows. So no statement comes near the time limit
(kit.statement_timeout), however long the whole search takes. A window with many matches is halved.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from time import monotonic
from typing import TypeVar, cast

from django.core.exceptions import EmptyResultSet
from django.db.models import Model, QuerySet
from msgspec import Struct

from kit.http.error_replies import check_client_connected
from kit.rest.lists.orders import Moments, Order, Position, read_in_order
from kit.rest.pagination import KeysetPagination
from kit.storage.limited import TookTooLong, rows_within
from kit.storage.replica import reading_connection
from kit.values.timestamps import MICROSECOND

FIRST_ROWS = 200  # rows in the first window, matching or not
GROWTH = 4  # of each further window
SHORT_ROWS = FIRST_ROWS * GROWTH**2  # a window with at most these rows is read in order
FEW = 500  # matches that are sorted here
# A window that takes less than the first time is followed by a longer one. A search is given up after the second.
FAST_SECONDS, MOST_SECONDS = 0.25, 3.0
# PostgreSQL expects of a summary that it skips as many blocks as a value is rare, although each may have the value
# once. If `every` is filtered by a value of an index, a search of up to so many rows has only this time to use one.
INDEXED_ROWS, INDEXED_SECONDS = 200_000, 0.15
# Every window has bounds that an index knows. PostgreSQL would read a whole table whose statistics do not tell that
# its rows lie in the order of time.
INDEX_SETTINGS = {"enable_seqscan": "off"}
INDEX_ORDER_SETTINGS = {**INDEX_SETTINGS, "enable_bitmapscan": "off"}
Found = tuple[datetime, str | int]  # the moment and key of a match
M = TypeVar("M", bound=Model)
R = TypeVar("R")


class Window(Struct, frozen=True):
    """A stretch of a list in its order, from `begin` up to `end` (excluded), or to the list's end.

    `rows` is about how many rows it has, matching or not.
    """

    order: Order
    begin: datetime | None
    end: datetime | None
    rows: int

    @property
    def is_short(self) -> bool:
        return self.rows <= SHORT_ROWS

    def of(self, rows: QuerySet[M]) -> QuerySet[M]:
        behind, until = ("lte", "gt") if self.order.descending else ("gte", "lt")
        if self.begin is not None:
            rows = rows.filter(**{f"{self.order.field}__{behind}": self.begin})
        if self.end is not None:
            rows = rows.filter(**{f"{self.order.field}__{until}": self.end})
        return rows


class WindowedPagination(KeysetPagination):
    """Reads by an index if `is_in_order`, otherwise in windows if `every` is set.

    `is_in_order`: an index has all matches in the list's order.
    `every`: rows that include all matches, and that an index has in this order; `is_indexed`: of one value.
    """

    is_in_order = False
    every: QuerySet[Model] | None = None
    is_indexed = False
    is_misled = False  # whether a search took too long with a summary

    def read(self, rows: QuerySet[M], order: Order, size: int, after: Position | None = None) -> list[M]:
        every = self.every
        if after is not None:
            rows = order.after(rows, after)
        if self.is_in_order:
            return read_in_order(rows[:size])
        if every is None or order.kind is not Moments:
            return super().read(rows, order, size)
        return self.read_windows(rows, every, windows(every, order, None if after is None else after.value), size)

    def read_windows(self, rows: QuerySet[M], every: QuerySet[Model], windows: Iterable[Window], size: int) -> list[M]:
        """Return the first rows of successive windows."""
        matches: list[M] = []
        for window in windows:
            check_client_connected()
            matches += self.read_window(rows, every, window, size - len(matches))
            if len(matches) == size:
                break
        return matches

    def read_window(self, rows: QuerySet[M], every: QuerySet[Model], window: Window, size: int) -> list[M]:
        """Return the first rows of a window."""
        inside, order = window.of(rows), window.order
        if window.is_short:
            return read_in_order(inside[:size])
        found = self.search(inside, window)
        if found is None or len(found) == FEW:
            smaller = parts(every, window) if found is None else halves(every, window)
            return self.read_windows(rows, every, smaller, size)
        if not found:
            return []
        return super().read(inside.filter(pk__in=[key for _, key in found[:size]]), order, size)

    def search(self, inside: QuerySet[M], window: Window) -> list[Found] | None:
        """Return `positions` of a window's rows, or None if that takes too long."""
        is_by_index = self.is_indexed and window.rows <= INDEXED_ROWS
        if is_by_index and not self.is_misled:
            with suppress(TookTooLong):
                return positions(inside, window.order, INDEXED_SECONDS, INDEX_SETTINGS)
            self.is_misled = True
        with suppress(TookTooLong):
            return positions(
                inside, window.order, MOST_SECONDS, INDEX_ORDER_SETTINGS if is_by_index else INDEX_SETTINGS
            )
        return None


def windows(every: QuerySet[Model], order: Order, begin: datetime | None) -> Iterator[Window]:
    """Yield windows of increasing length that together have all rows from `begin` on. Each is read before the next."""
    edge, rows, total = begin, FIRST_ROWS, 0
    while rows <= SHORT_ROWS:
        start, edge = edge, moment_after(every, Window(order, edge, None, rows))
        if edge is None:
            yield Window(order, start, None, rows)
            return
        if edge != start:
            yield Window(order, start, edge, rows)
        total, rows = total + rows, rows * GROWTH
    moments = in_order(every, order)
    start, last = begin or moments.first(), moments.reverse().first()
    if edge is None or start is None or last is None:  # all rows have been deleted since
        return
    length = (edge - start or (-MICROSECOND if order.descending else MICROSECOND)) * GROWTH
    rows = total * GROWTH
    while last < edge if order.descending else last > edge:
        began = monotonic()
        yield Window(order, edge, edge + length, rows)
        edge += length
        growth = growth_after(monotonic() - began)
        length, rows = length * growth, int(rows * growth)
    yield Window(order, edge, None, 0)


def parts(every: QuerySet[Model], whole: Window) -> Iterator[Window]:
    """Yield the parts of a window, each with an increasing number of rows. Each is read before the next."""
    order, begin, rows = whole.order, whole.begin, SHORT_ROWS
    while True:
        began = monotonic()
        edge = moment_after(every, Window(order, begin, whole.end, rows))
        if edge is None:
            # The rows of one moment cannot be divided and are read in order, too.
            yield Window(order, begin, whole.end, 0 if begin == whole.begin else rows)
            return
        if edge == begin:
            rows *= GROWTH
            continue
        yield Window(order, begin, edge, rows)
        begin, rows = edge, max(int(rows * growth_after(monotonic() - began)), SHORT_ROWS)


def halves(every: QuerySet[Model], whole: Window) -> Iterator[Window]:
    """Yield the halves of a window's time. As many rows as a short window has are divided by their number.

    A search finds at once that a half has no match, if a summary can tell. Counting to its end takes longer.
    """
    order, begin, end = whole.order, whole.begin, whole.end
    if begin is None or end is None:
        yield from parts(every, whole)
        return
    middle = begin + (end - begin) / 2
    for half in (Window(order, begin, middle, whole.rows // 2), Window(order, middle, end, whole.rows // 2)):
        if half.is_short:  # as far as rows are evenly distributed
            yield from parts(every, half)
        else:
            yield half


def growth_after(seconds: float) -> float:
    """Return how many times the next window's rows should be those of one that took `seconds`."""
    if seconds < FAST_SECONDS:
        return GROWTH
    return 2 if seconds < 2 * FAST_SECONDS else 1 if seconds < MOST_SECONDS else 1 / 2


def in_order(every: QuerySet[Model], order: Order) -> QuerySet[Model, datetime]:
    return every.order_by(f"{'-' if order.descending else ''}{order.field}").values_list(order.field, flat=True)


def moment_after(every: QuerySet[Model], window: Window) -> datetime | None:
    """Return the moment of the first row after `window.rows` rows of the window; None if it has no more."""
    moments = in_order(window.of(every), window.order)
    return next(iter(read_in_order(moments[window.rows : window.rows + 1])), None)


def positions(rows: QuerySet[M], order: Order, seconds: float, settings: Mapping[str, str]) -> list[Found]:
    """Return the moments and keys of all rows in order; if there are FEW or more, of as many and in any order.

    PostgreSQL plans the search as if it had to find all of them. Raises TookTooLong after `seconds`.
    """
    try:
        sql, parameters = rows.order_by().values_list(order.field, "pk").query.sql_with_params()
    except EmptyResultSet:
        return []
    using = reading_connection()
    search = f"WITH found AS MATERIALIZED ({sql}) SELECT * FROM found LIMIT {FEW:d}"  # noqa: S608 - the ORM's
    found = cast("list[Found]", rows_within(using, seconds, search, parameters, settings))
    found.sort(reverse=order.descending)
    key = rows.model._meta.pk
    converters: list[Callable[..., str | int]] = key.get_db_converters(using)
    for converter in converters:
        found = [(moment, converter(stored, None, using)) for moment, stored in found]
    return found
