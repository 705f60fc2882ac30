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
from kit import statements
from kit.http.errors import check_client_connected, took_too_long
from kit.rest.lists.counting import Total
from kit.rest.lists.orders import Position
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND

Values = dict[str, object]  # an archived decision by the names of the model's columns, with `requester__requester_id`
MILLISECOND = timedelta(milliseconds=1)
FIELDS = {name: column.field or f"{name}_id" for name, column in COLUMNS.items() if name != "month"} | {"id": "id"}
COMPARISONS = {"gt": pc.greater, "gte": pc.greater_equal, "lt": pc.less, "lte": pc.less_equal}


class Comparison(Struct, frozen=True):
    """A filter by a column; `operator` and its `value` are those of kit.rest.filters."""

    column: str
    operator: str
    value: object

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        column = rows[self.column]
        if self.operator == "exists":
            if self.value:
                return pc.is_valid(column)
            return pc.is_null(column)
        if self.operator in COMPARISONS:
            return pc.fill_null(COMPARISONS[self.operator](column, pa.scalar(self.value, column.type)), False)
        values = self.value if isinstance(self.value, list) else [self.value]
        matches = pc.is_in(column, value_set=pa.array(values, column.type))
        return pc.invert(matches) if self.operator == "ne" else matches


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

    def matches(self, facts: Values) -> bool:
        text = facts.get(self.name)
        return isinstance(text, str) and (text.startswith(self.texts) if self.is_prefix else text in self.texts)


class Stretch(Struct, frozen=True):
    """An account's archived decisions from `begin` (included) up to `end` (excluded) that pass all filters."""

    account_id: str
    begin: datetime | None
    end: datetime
    comparisons: tuple[Comparison, ...] = ()
    facts: tuple[FactComparison, ...] = ()

    def read(self, size: int, *, descending: bool, after: Position | None = None) -> list[Values]:
        """Return the first decisions in order of (created, id), or the first behind `after`.

        Raises ServiceUnavailable if it takes longer than a statement may, and ClientGone.
        """
        began = monotonic()
        rows = list[Values]()
        for group in self.groups(descending=descending, after=after):
            check_time(began)
            places = self.places(group, descending=descending, after=after)
            rows += group.values(list(islice(places, size - len(rows))))
            if len(rows) == size:
                break
        return rows

    def chunks(self, size: int, *, after: Position | None = None) -> Iterator[list[Values]]:
        """Yield all decisions, oldest first."""
        for group in self.groups(after=after):
            places = list(self.places(group, after=after))
            for first in range(0, len(places), size):
                yield group.values(places[first : first + size])

    def positions(self) -> Iterator[Position]:
        """Yield where the decisions are, newest first."""
        began = monotonic()
        for group in self.groups(descending=True):
            check_time(began)
            moments, keys = group.load(["created", "id"]).columns
            for place in self.places(group, descending=True):
                yield Position(moments[place].as_py().astimezone(UTC), keys[place].as_py())

    def tally(self, column: str) -> Counter[object]:
        """Count the decisions by a column's value."""
        began = monotonic()
        counts = Counter[object]()
        for group in self.groups():
            check_time(began)
            if places := list(self.places(group)):
                counts.update(group.load([column])[column].take(pa.array(places)).to_pylist())
        return counts

    def count(self, seconds: float) -> Total:
        """Count the decisions; estimate those that are not counted within `seconds` by the others."""
        end = monotonic() + seconds
        number = 0
        seen = 0
        unseen = 0
        for group in self.groups():
            check_client_connected()
            if monotonic() < end:
                number += sum(1 for _ in self.places(group))
                seen += group.size
            else:
                unseen += group.size
        return Total(number + unseen * number // max(seen, 1), is_exact=not unseen)

    def groups(self, *, descending: bool = False, after: Position | None = None) -> Iterator["Group"]:
        """Yield the groups of rows that may have such decisions, in order."""
        begin, end = self.begin, self.end
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
                    group = Group(file, number)
                    if (begin is None or group.last >= begin) and group.first < end:
                        yield group

    def places(self, group: "Group", *, descending: bool = False, after: Position | None = None) -> Iterator[int]:
        """Yield the places of the matching rows, in order."""
        tests = [Comparison("created", "lt", self.end), *self.comparisons]
        if self.begin is not None:
            tests.append(Comparison("created", "gte", self.begin))
        names = {one.column for one in tests}
        if after is not None:
            names.add("id")
        if self.facts:
            names.add("facts")
        # The rows behind a page or chunk are probably read next, so all their columns are read at once.
        is_continued = after is not None and group.first <= after.value <= group.last
        rows = group.whole if is_continued else group.load([*names])
        masks = [one.mask(rows) for one in tests]
        if after is not None:
            masks.append(is_behind(rows, after, descending=descending))
        facts = rows["facts"] if self.facts else None
        masks += [one.mask(facts) for one in self.facts]
        places = pc.indices_nonzero(reduce(pc.and_, masks)).to_pylist()
        for place in reversed(places) if descending else places:
            if facts is None or self.has_facts(orjson.loads(facts[place].as_py())):
                yield place

    def has_facts(self, facts: Values) -> bool:
        return all(one.matches(facts) for one in self.facts)


def check_time(began: float) -> None:
    """Raise ServiceUnavailable if reading takes longer than a statement may, or ClientGone."""
    check_client_connected()
    bound = statements.bound.get()
    if bound is not None and monotonic() - began > bound.seconds:
        raise took_too_long()


class Group:
    """A group of rows of a file."""

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

    def values(self, places: Sequence[int]) -> list[Values]:
        if not places:
            return []
        rows = self.whole.take(pa.array(places)).to_pylist()
        for row in rows:
            row |= {"created": row["created"].astimezone(UTC), "facts": orjson.loads(row["facts"])}
        return [{FIELDS[name]: value for name, value in row.items()} for row in rows]


def is_behind(rows: pa.Table, after: Position, *, descending: bool) -> pa.ChunkedArray:
    """Compare (created, id). Texts of ids sort as the ids do."""
    operator = "lt" if descending else "gt"
    is_same = Comparison("created", "eq", after.value).mask(rows)
    is_other_id = Comparison("id", operator, after.key).mask(rows)
    return pc.or_(Comparison("created", operator, after.value).mask(rows), pc.and_(is_same, is_other_id))


def find(account_id: str, id: str, end: datetime) -> Values | None:
    """Return the archived decision with this id from before `end`, or None. Its id contains its millisecond."""
    raw = ids.decode("dec", id)
    if raw is None:
        return None
    milliseconds = int.from_bytes(raw[:6])
    if milliseconds >= end.timestamp() * 1000:
        return None
    begin = EPOCH + milliseconds * MILLISECOND
    stretch = Stretch(account_id, begin, min(begin + MILLISECOND, end), (Comparison("id", "eq", id),))
    return next(iter(stretch.read(1, descending=True)), None)


# A file of a list is read from a group in many chunks.
@cached(LRUCache(maxsize=2), key=lambda file, number: (file.uri, number), lock=Lock())
def rows_of_group(file: MonthFile, number: int) -> pa.Table:
    """Return all columns of a group."""
    return file.read(number, list(FIELDS))
