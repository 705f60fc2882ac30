"""Count the decisions that match a list's filters, from the rollups: exact, current, as fast for a year as for a day.

An account's whole hours by outcome come from HourlyUsage; whole days of items or requesters from their yearly and
monthly rows. Both ends of the window are counted among the events, and recent decisions among the pending rows. One
statement, so one snapshot.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from analytics.events.retention import horizon
from analytics.models import AccessEvent
from analytics.models.usage import DAYS, MONTHS
from analytics.rollups.definitions import adapt, month_number
from analytics.rollups.roll_up import HAS_PENDING_ROWS, HOURS, USAGE_LISTS
from analytics.usage.subject_usage import ARRAY_TYPES, Subject
from analytics.windows import DAY, MICROSECOND, floor, midnight
from kit.storage.limited import number_within
from kit.storage.loading import Parameter, prepare

HOUR = timedelta(hours=1)
ALLOWED = ""  # an outcome


class Outcomes(Struct, frozen=True):
    """Outcomes as in HourlyUsage: these or, if `are_excluded`, all others."""

    names: tuple[str, ...]
    are_excluded: bool = False

    def condition(self, column: str) -> str:
        """Return an SQL condition with a parameter per name."""
        if not self.names:
            return "1 = 1" if self.are_excluded else "1 = 0"
        marks = ", ".join(["%s"] * len(self.names))
        return f"{column} {'NOT ' if self.are_excluded else ''}IN ({marks})"


class Keys(Struct, frozen=True):
    """Items (ids) or requesters (numbers): these or, if `are_excluded`, all others."""

    subject: Subject
    values: tuple[str | int, ...]
    are_excluded: bool = False


class Selection(Struct, frozen=True):
    """An account's decisions from `begin` (included) to `end` (excluded); None means unbounded.

    The rollups cannot combine outcomes with items or requesters, so `keys` excludes `outcomes`.
    """

    account_id: str
    begin: datetime | None = None
    end: datetime | None = None
    outcomes: tuple[Outcomes, ...] = ()
    keys: Keys | None = None

    @property
    def step(self) -> timedelta:
        """The length of the periods that the rollups count."""
        return HOUR if self.keys is None else DAY

    def cut(self, moment: datetime) -> datetime:
        """Return the start of such a period."""
        if self.keys is None:
            return floor(moment, "hour")
        return midnight(moment)

    def without_edges(self, moment: datetime) -> "tuple[Selection, list[tuple[datetime, datetime]]]":
        """Return the selection without the parts of periods at its ends that are before `moment`, and these parts.

        A period begins at `moment`.
        """
        begin = self.begin
        end = self.end
        edges = list[tuple[datetime, datetime]]()
        if begin is not None and begin < moment:
            first = self.cut(begin - MICROSECOND) + self.step
            first = first if end is None else min(first, max(begin, end))
            if begin < first:
                edges.append((begin, first))
            begin = first
        if end is not None and end < moment:
            if begin is None:
                after = self.cut(end)
            else:
                after = max(self.cut(end), min(begin, end))
            if after < end:
                edges.append((after, end))
            end = after
        return replace(self, begin=begin, end=end), edges


def count_matching(selection: Selection, seconds: float) -> int:
    """Count the decisions. Raises kit.storage.limited.TookTooLong after `seconds`."""
    keys = selection.keys
    if keys is None:
        return count_selections([(1, selection)], seconds)
    signed = []
    if keys.values:
        sign = -1 if keys.are_excluded else 1
        signed.append((sign, replace(selection, keys=Keys(keys.subject, keys.values))))
    if keys.are_excluded:
        signed.append((1, replace(selection, keys=None)))
    return count_selections(signed, seconds)


def count_selections(signed: Sequence[tuple[int, Selection]], seconds: float) -> int:
    """Return the sum of several selections' counts, each with its sign."""
    purged = horizon()
    selects: list[str] = []
    parameters: list[Parameter] = []
    for sign, selection in signed:
        for sql, values in Parts(selection, purged).selects():
            selects.append(f"SELECT {sign} * ({sql}) AS n")
            parameters += values
    if not selects:
        return 0
    union = " UNION ALL ".join(selects)
    values = [adapt(value) for value in parameters]
    return number_within(seconds, f"SELECT sum(n) FROM ({union}) AS parts", values)  # noqa: S608 - of constants


class Parts:
    """The parts of a selection's window, and how each is counted."""

    def __init__(self, selection: Selection, purged: datetime | None) -> None:
        self.selection = selection
        self.purged = purged
        self.account = prepare(AccessEvent, "account_id", selection.account_id)
        begin = selection.begin
        end = selection.end
        # The rollups include purged decisions; the list does not.
        self.first = None if begin is None else selection.cut(begin - MICROSECOND) + selection.step
        if purged is not None:
            self.first = purged if self.first is None else max(self.first, purged)
        self.after = None if end is None else selection.cut(end)

    def selects(self) -> Iterator[tuple[str, list[Parameter]]]:
        """Yield SELECTs that return a number each, with their parameters."""
        begin = self.selection.begin
        end = self.selection.end
        first = self.first
        after = self.after
        if begin is not None and end is not None and begin >= end:
            return
        if first is not None and after is not None and first >= after:
            yield self.events(begin, end)
            return
        if first is not None and begin != first:
            yield self.events(begin, first)
        if after is not None and end != after:
            yield self.events(after, end)
        keys = self.selection.keys
        if keys is None:
            yield self.hours()
            return
        yield from self.days(keys)
        if HAS_PENDING_ROWS:
            yield self.pending(keys)

    def events(self, begin: datetime | None, end: datetime | None) -> tuple[str, list[Parameter]]:
        """Count single events."""
        conditions, values = self.conditions("created", begin, end)
        matching, matching_values = self.matching("coalesce(reason, '')")
        return f"SELECT count(*) FROM analytics_accessevent WHERE {conditions}{matching}", values + matching_values  # noqa: S608

    def hours(self) -> tuple[str, list[Parameter]]:
        conditions, values = self.conditions("hour", self.first, self.after)
        matching, matching_values = self.matching("outcome")
        sql = f"SELECT coalesce(sum(requests), 0) FROM ({HOURS}) hours WHERE {conditions}{matching}"  # noqa: S608
        return sql, values + matching_values

    def pending(self, keys: Keys) -> tuple[str, list[Parameter]]:
        conditions, values = self.conditions("hour", self.first, self.after)
        matching, matching_values = self.matching("outcome")
        # Skips lists without any of the keys before expanding one.
        subject = keys.subject
        rows = f"""SELECT * FROM analytics_recentusage
          WHERE {conditions} AND {subject}s && %s::{ARRAY_TYPES[subject]} OFFSET 0"""  # noqa: S608
        sql = f"SELECT count(*) FROM ({rows}) AS pending, {USAGE_LISTS} WHERE true{matching}"  # noqa: S608
        return sql, [*values, self.key_values(keys), *matching_values]

    def days(self, keys: Keys) -> Iterator[tuple[str, list[Parameter]]]:
        """Yield decisions before `after`, minus those before `first`: the rollups hold running totals."""
        yield from self.before(keys, self.after)
        if self.first is not None:
            for sql, values in self.before(keys, self.first):
                yield f"SELECT -({sql})", values

    def before(self, keys: Keys, day: datetime | None) -> Iterator[tuple[str, list[Parameter]]]:
        """Yield all decisions of the keys before that midnight."""
        marks = ", ".join(["%s"] * len(keys.values))
        values = self.key_values(keys)
        owned = f"account_id = %s AND {keys.subject}_id IN ({marks})"
        if day is None:
            totals = "m12"
            until = ""
        else:
            month = MONTHS[day.month - 2] if day.month > 1 else "0"
            totals = f"CASE WHEN year < {day.year:d} THEN m12 ELSE {month} END"
            until = f" AND year <= {day.year:d}"
        sql = f"SELECT coalesce(sum({totals}), 0) FROM analytics_{keys.subject}year WHERE {owned}{until}"  # noqa: S608
        yield sql, [self.account, *values]
        if day is not None and day.day > 1:
            sql = f"""SELECT coalesce(sum({DAYS[day.day - 2]}), 0) FROM analytics_{keys.subject}month
              WHERE {owned} AND month = {month_number(day):d}"""  # noqa: S608
            yield sql, [self.account, *values]

    def conditions(self, column: str, begin: datetime | None, end: datetime | None) -> tuple[str, list[Parameter]]:
        conditions = ["account_id = %s"]
        values = [self.account]
        for sign, moment in ((">=", begin), ("<", end)):
            if moment is not None:
                conditions.append(f"{column} {sign} %s")
                values.append(moment)
        return " AND ".join(conditions), values

    def matching(self, outcome: str) -> tuple[str, list[Parameter]]:
        """Return further conditions on outcome, item and requester."""
        sql = ""
        values = list[Parameter]()
        for outcomes in self.selection.outcomes:
            sql += f" AND {outcomes.condition(outcome)}"
            values += outcomes.names
        keys = self.selection.keys
        if keys is not None:
            sql += f" AND {keys.subject}_id IN ({', '.join(['%s'] * len(keys.values))})"
            values += self.key_values(keys)
        return sql, values

    def key_values(self, keys: Keys) -> list[Parameter]:
        return [prepare(AccessEvent, f"{keys.subject}_id", value) for value in keys.values]
