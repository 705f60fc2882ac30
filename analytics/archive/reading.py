"""Read decisions that only the archive has: by id, and in the order of a list.

`ArchivedMonth` names the file of each month, so neither the catalogue nor pyiceberg is needed. A file has its
decisions in order of (created, id), in groups of rows whose least and greatest values Parquet records. Only groups
that may match are read, and first only the columns that decide.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import islice
from threading import Lock
from time import monotonic

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from cachetools import LRUCache, cached
from django.db import DEFAULT_DB_ALIAS
from msgspec import Struct

from analytics.archive.layout import COLUMNS
from analytics.archive.models import ArchivedMonth
from analytics.archive.month_file import MonthFile, open_month
from analytics.events.partitions import month_start
from kit import statement_timeout
from kit.http.error_replies import check_client_connected, took_too_long
from kit.rest.lists.counting import Total
from kit.rest.lists.orders import Position
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND

# An archived decision by the names of the model's columns, with `requester__requester_id`.
ArchivedRow = dict[str, object]
UUID7_TIME_BYTES = 6  # the milliseconds since 1970, at the start of an id
MILLISECOND = timedelta(milliseconds=1)
FIELDS = {name: column.field or f"{name}_id" for name, column in COLUMNS.items() if name != "month"} | {"id": "id"}
COMPARISONS = {"gt": pc.greater, "gte": pc.greater_equal, "lt": pc.less, "lte": pc.less_equal}


class Comparison(Struct, frozen=True):
    """A filter by a column; `operator` and its `value` are those of kit.rest.filters."""

    column: str
    operator: str
    value: object

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        column = rows[self.column]
        if self.operator == "exists":
            return pc.is_valid(column) if self.value else pc.is_null(column)
        if self.operator in COMPARISONS:
            return pc.fill_null(COMPARISONS[self.operator](column, pa.scalar(self.value, column.type)), False)
        values = self.value if isinstance(self.value, list) else [self.value]
        mask = pc.is_in(column, value_set=pa.array(values, column.type))
        return pc.invert(mask) if self.operator == "ne" else mask


class AnyOf(Struct, frozen=True):
    """A filter that one of the comparisons has to pass."""

    comparisons: tuple[Comparison, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(comparison.column for comparison in self.comparisons)

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        return reduce(pc.or_, (comparison.mask(rows) for comparison in self.comparisons))


class FactComparison(Struct, frozen=True):
    """A filter by a fact that is a text: one of `texts`, or one that begins with one of them."""

    name: str
    texts: tuple[str, ...]
    is_prefix: bool = False

    def mask(self, facts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Find what may match in the JSON, as `orjson` has written it."""
        members = [orjson.dumps({self.name: text}).decode()[1:-1] for text in self.texts]
        if self.is_prefix:
            members = [member.removesuffix('"') for member in members]
        return reduce(pc.or_, (pc.match_substring(facts, member) for member in members))

    def matches(self, facts: ArchivedRow) -> bool:
        text = facts.get(self.name)
        return isinstance(text, str) and (text.startswith(self.texts) if self.is_prefix else text in self.texts)


class ArchiveQuery(Struct, frozen=True):
    """An account's archived decisions from `begin` (included) up to `end` (excluded) that pass all filters."""

    account_id: str
    begin: datetime | None
    end: datetime
    comparisons: tuple[Comparison | AnyOf, ...] = ()
    facts: tuple[FactComparison, ...] = ()

    def read(self, size: int, *, descending: bool, after: Position | None = None) -> list[ArchivedRow]:
        """Return the first decisions in order of (created, id), or the first behind `after`.

        Raises ServiceUnavailable if it takes longer than a statement may, and ClientGone.
        """
        began = monotonic()
        decisions: list[ArchivedRow] = []
        for group in self.groups(descending=descending, after=after):
            check_time(began)
            rows = self.matching_rows(group, descending=descending, after=after)
            decisions += group.values(list(islice(rows, size - len(decisions))))
            if len(decisions) == size:
                break
        return decisions

    def read_in_chunks(self, size: int, *, after: Position | None = None) -> Iterator[list[ArchivedRow]]:
        """Yield all decisions, oldest first."""
        for group in self.groups(after=after):
            rows = list(self.matching_rows(group, after=after))
            for first in range(0, len(rows), size):
                yield group.values(rows[first : first + size])

    def positions(self) -> Iterator[Position]:
        """Yield where the decisions are, newest first."""
        began = monotonic()
        for group in self.groups(descending=True):
            check_time(began)
            moments, keys = group.load(["created", "id"]).columns
            for row in self.matching_rows(group, descending=True):
                yield Position(moments[row].as_py().astimezone(UTC), keys[row].as_py())

    def tally(self, column: str) -> Counter[object]:
        """Count the decisions by a column's value."""
        began = monotonic()
        counts: Counter[object] = Counter()
        for group in self.groups():
            check_time(began)
            rows = list(self.matching_rows(group))
            if rows:
                counts.update(group.load([column])[column].take(pa.array(rows)).to_pylist())
        return counts

    def count(self, seconds: float) -> Total:
        """Count the decisions; estimate those that are not counted within `seconds` by the others."""
        deadline = monotonic() + seconds
        matches = rows_counted = rows_left = 0
        for group in self.groups():
            check_client_connected()
            if monotonic() < deadline:
                matches += sum(1 for _ in self.matching_rows(group))
                rows_counted += group.size
            else:
                rows_left += group.size
        estimate = rows_left * matches // max(rows_counted, 1)
        return Total(matches + estimate, is_exact=rows_left == 0)

    def groups(self, *, descending: bool = False, after: Position | None = None) -> Iterator["RowGroup"]:
        """Yield the groups of rows that may have such decisions, in order.

        Each group is readable until the next one is requested.
        """
        begin = self.begin
        end = self.end
        if after is not None and descending:
            end = min(end, after.value + MICROSECOND)
        elif after is not None:
            begin = after.value if begin is None else max(begin, after.value)
        months = ArchivedMonth.objects.using(DEFAULT_DB_ALIAS).filter(
            account_id=self.account_id, month__lte=month_start(end).date(), rows__isnull=False
        )
        if begin is not None:
            months = months.filter(month__gte=month_start(begin).date())
        for month in months.order_by("-month" if descending else "month"):
            with open_month(month) as file:
                numbers = range(file.footer.num_row_groups)
                for number in reversed(numbers) if descending else numbers:
                    group = RowGroup(file, number)
                    if (begin is None or group.last >= begin) and group.first < end:
                        yield group

    def matching_rows(
        self, group: "RowGroup", *, descending: bool = False, after: Position | None = None
    ) -> Iterator[int]:
        """Yield the positions of the matching rows, in order."""
        tests = [Comparison("created", "lt", self.end), *self.comparisons]
        if self.begin is not None:
            tests.append(Comparison("created", "gte", self.begin))
        names = {column for comparison in tests for column in comparison.columns}
        if after is not None:
            names.add("id")
        if self.facts:
            names.add("facts")
        # The rows behind a page or chunk are probably read next, so all their columns are read at once.
        is_continued = after is not None and group.first <= after.value <= group.last
        rows = group.whole if is_continued else group.load([*names])
        masks = [comparison.mask(rows) for comparison in tests]
        if after is not None:
            masks.append(after_position(rows, after, descending=descending))
        facts = rows["facts"] if self.facts else None
        masks += [comparison.mask(facts) for comparison in self.facts]
        matching = pc.indices_nonzero(reduce(pc.and_, masks)).to_pylist()
        for row in reversed(matching) if descending else matching:
            if facts is None or self.has_facts(orjson.loads(facts[row].as_py())):
                yield row

    def has_facts(self, facts: ArchivedRow) -> bool:
        return all(comparison.matches(facts) for comparison in self.facts)


def check_time(began: float) -> None:
    """Raise ServiceUnavailable if reading takes longer than a statement may, or ClientGone."""
    check_client_connected()
    bound = statement_timeout.bound.get()
    if bound is not None and monotonic() - began > bound.seconds:
        raise took_too_long()


class RowGroup:
    def __init__(self, file: MonthFile, number: int) -> None:
        self.file = file
        self.number = number
        metadata = file.footer.row_group(number)
        statistics = metadata.column(list(COLUMNS).index("created")).statistics
        self.size = metadata.num_rows
        self.first = statistics.min
        self.last = statistics.max

    def load(self, names: Sequence[str]) -> pa.Table:
        return self.file.read(self.number, names)

    @property
    def whole(self) -> pa.Table:
        return rows_of_group(self.file, self.number)

    def values(self, rows: Sequence[int]) -> list[ArchivedRow]:
        """Return the decisions at these positions."""
        if not rows:
            return []
        decisions = self.whole.take(pa.array(rows)).to_pylist()
        for decision in decisions:
            decision["created"] = decision["created"].astimezone(UTC)
            decision["facts"] = orjson.loads(decision["facts"])
        return [{FIELDS[name]: value for name, value in decision.items()} for decision in decisions]


def after_position(rows: pa.Table, after: Position, *, descending: bool) -> pa.ChunkedArray:
    """Compare (created, id). Texts of ids sort as the ids do."""
    operator = "lt" if descending else "gt"
    is_same = Comparison("created", "eq", after.value).mask(rows)
    is_other_id = Comparison("id", operator, after.key).mask(rows)
    return pc.or_(Comparison("created", operator, after.value).mask(rows), pc.and_(is_same, is_other_id))


def find_decision(account_id: str, decision_id: str, end: datetime) -> ArchivedRow | None:
    """Return the archived decision with this id from before `end`, or None. Its id contains its millisecond."""
    raw = ids.decode("dec", decision_id)
    if raw is None:
        return None
    milliseconds = int.from_bytes(raw[:UUID7_TIME_BYTES])
    if milliseconds >= end.timestamp() * 1000:
        return None
    begin = EPOCH + milliseconds * MILLISECOND
    is_it = Comparison("id", "eq", decision_id)
    query = ArchiveQuery(account_id, begin, min(begin + MILLISECOND, end), (is_it,))
    return next(iter(query.read(1, descending=True)), None)


# A file of a list is read from a group in many chunks.
@cached(LRUCache(maxsize=2), key=lambda file, number: (file.uri, number), lock=Lock())
def rows_of_group(file: MonthFile, number: int) -> pa.Table:
    return file.read(number, list(FIELDS))
