"""The SQL of the usage report: one statement, so one snapshot, on either database.

Whole months come from yearly rows, days of other months from monthly rows, partial days from events, and recent
decisions from pending rows (analytics.models.pending). The number of rows read depends on the number of items and
requesters, not on their activity.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from analytics.models.usage import DAYS, MONTHS
from analytics.rollups.definitions import accounts_condition, month_number
from analytics.rollups.roll_up import PENDING_USAGE
from analytics.windows import DAY, MICROSECOND, Window, bucket_after, floor, midnight
from kit.storage.by_database import by_database
from kit.storage.loading import Parameter

TOP = 10


class PostgreSQL:
    """PostgreSQL expressions. Counts are added as float8: exact up to 2**53, and twice as fast as numeric."""

    buckets = {
        "hour": "date_bin('1 hour', {0}, '2001-01-01Z')",
        "day": "date_bin('1 day', {0}, '2001-01-01Z')",
        "week": "date_bin('7 days', {0}, '2001-01-01Z')",  # a Monday
        "month": "date_trunc('month', {0}, 'UTC')",
    }
    number = "::float8"
    unix = "extract(epoch FROM {0})::bigint"
    id = "replace({0}::text, '-', '')"
    pending = f"""SELECT {{bucket}} AS bucket, outcome, content_id, requester_id
    FROM {PENDING_USAGE} WHERE {{owned}} AND hour >= %s AND hour < %s"""  # noqa: S608
    bytewise = 'COLLATE "C"'
    range = "(%s::timestamptz, %s::timestamptz)"
    quarter = "floor(extract(epoch FROM created) / 900)::bigint"  # the number of quarters of an hour since 1970


class SQLite:
    buckets = {
        "hour": "substr({0}, 1, 13) || ':00:00'",
        "day": "substr({0}, 1, 10)",
        "week": "date(substr({0}, 1, 10), 'weekday 0', '-6 days')",
        "month": "substr({0}, 1, 7) || '-01'",
    }
    number = ""
    unix = "CAST(strftime('%%s', {0}) AS INTEGER)"
    id = "lower(hex({0}))"
    pending = ""  # SQLite has no pending rows
    bytewise = "COLLATE BINARY"
    range = "(%s, %s)"
    quarter = "CAST(strftime('%%s', substr(created, 1, 16)) AS INTEGER) / 900"  # strftime rounds fractions


def dialect() -> type[PostgreSQL] | type[SQLite]:
    """Return the expressions of this service's database."""
    return by_database(postgresql=PostgreSQL, sqlite=SQLite)


@dataclass
class Parts:
    """The parts of a window: whole months by year, day ranges (from, to) of other months, partial days.

    A month that is the only whole one of its year is treated as one of the other months.
    """

    first_day: datetime  # of the whole days; there are none if it is not before last_day
    last_day: datetime  # the midnight after the whole days
    years: dict[int, list[int]] = field(default_factory=dict)
    months: dict[int, tuple[int, int]] = field(default_factory=dict)
    edges: list[tuple[datetime, datetime]] = field(default_factory=list)

    @classmethod
    def for_window(cls, window: Window, recorded: tuple[datetime, datetime] | None = None) -> "Parts":
        """Divide a window into parts.

        `recorded` is the first and last hour with decisions, if any: a month that is empty outside the window counts
        as whole.
        """
        first = midnight(window.start - MICROSECOND) + DAY
        last = midnight(window.end)
        if first >= last:
            return cls(first, first, edges=[(window.start, window.end)])
        parts = cls(first, last)
        parts.edges = [(begin, end) for begin, end in ((window.start, first), (last, window.end)) if begin < end]
        month = floor(first, "month")
        while month < last:
            parts.add_month(month, bucket_after(month, "month"), recorded)
            month = bucket_after(month, "month")
        for year in [year for year, months in parts.years.items() if len(months) == 1]:
            # The month has fewer rows than the year.
            [number] = parts.years.pop(year)
            parts.months[month_number(date(year, number, 1))] = (1, len(DAYS))
        return parts

    def add_month(self, month: datetime, after: datetime, recorded: tuple[datetime, datetime] | None) -> None:
        outside = [(begin, end) for begin, end in ((month, self.first_day), (self.last_day, after)) if begin < end]
        if not outside or (recorded and not any(begin <= recorded[1] and recorded[0] < end for begin, end in outside)):
            self.years.setdefault(month.year, []).append(month.month)
        else:
            days = (max(self.first_day, month).day, (min(self.last_day, after) - DAY).day)
            self.months[month_number(month)] = days


class Statement:
    """SQL under construction, with its parameters in order."""

    def __init__(self, accounts: Sequence[str], window: Window, parts: Parts) -> None:
        self.dialect = dialect()
        self.window = window
        self.parts = parts
        self.group_by = window.group_by if window.zone is UTC else "hour"  # hours of UTC are added up afterwards
        self.owned, self.accounts = accounts_condition(accounts)
        self.parameters: list[Parameter] = []
        self.has_singles = False

    def build(self) -> str:
        steps = [*self.singles(), self.figures(), *self.counted("content"), *self.counted("requester")]
        return f"WITH {', '.join(steps)} {self.selected()}"

    def take(self, *values: Parameter) -> None:
        self.parameters += values

    def bucket(self, column: str) -> str:
        return self.dialect.buckets[self.group_by].format(column)

    def singles(self) -> Iterator[str]:
        """Yield the decisions read one by one: events of partial days, and pending ones of whole days."""
        selects = []
        if self.parts.edges:
            ranges = " OR ".join(["(created >= %s AND created < %s)"] * len(self.parts.edges))
            self.take(*self.accounts, *(moment for pair in self.parts.edges for moment in pair))
            selects.append(f"""SELECT {self.bucket("created")} AS bucket, coalesce(reason, '') AS outcome, content_id,
    requester_id FROM analytics_accessevent WHERE {self.owned} AND ({ranges})""")  # noqa: S608
        if self.dialect.pending:
            self.take(*self.accounts, self.parts.first_day, self.parts.last_day)
            selects.append(self.dialect.pending.format(bucket=self.bucket("hour"), owned=self.owned))
        if selects:
            self.has_singles = True
            yield f"single AS MATERIALIZED ({' UNION ALL '.join(selects)})"

    def figures(self) -> str:
        """Return decisions by bucket and outcome."""
        self.take(*self.accounts, self.parts.first_day, self.parts.last_day)
        single = "UNION ALL SELECT bucket, outcome, count(*) FROM single GROUP BY 1, 2" if self.has_singles else ""
        return f"""figures AS MATERIALIZED (
  SELECT bucket, outcome, sum(requests) AS requests FROM (
    SELECT {self.bucket("hour")} AS bucket, outcome, sum(requests) AS requests FROM analytics_hourlyusage
    WHERE {self.owned} AND hour >= %s AND hour < %s GROUP BY 1, 2 {single}) parts
  GROUP BY 1, 2 HAVING sum(requests) > 0)"""  # noqa: S608

    def counted(self, subject: str) -> Iterator[str]:
        """Yield decisions by item or requester."""
        sources = []
        if self.parts.years:
            whens = " ".join(
                f"WHEN {year} THEN {self.between(MONTHS, months[0], months[-1])}"
                for year, months in self.parts.years.items()
            )
            years = ", ".join(map(str, self.parts.years))
            sources.append(f"""SELECT {subject}_id AS id, CASE year {whens} END AS n FROM analytics_{subject}year
    WHERE {self.owned} AND year IN ({years})""")  # noqa: S608
        for month, (first, last) in self.parts.months.items():
            days = self.between(DAYS, first, last)
            sources.append(f"""SELECT {subject}_id AS id, {days} AS n FROM analytics_{subject}month
    WHERE {self.owned} AND month = {month}""")  # noqa: S608
        self.take(*self.accounts * len(sources))
        if self.has_singles:
            sources.append(f"SELECT {subject}_id AS id, 1{self.dialect.number} AS n FROM single")  # noqa: S608
        union = " UNION ALL ".join(sources)
        yield f"""{subject} AS MATERIALIZED (
  SELECT id, sum(n) AS n FROM ({union}) parts GROUP BY id HAVING sum(n) > 0)"""  # noqa: S608

    def between(self, columns: Sequence[str], first: int, last: int) -> str:
        """Return SQL for the decisions from month or day `first` to `last`, inclusive, from running totals."""
        before = f" - {columns[first - 2]}" if first > 1 else ""
        return f"({columns[last - 1]}{before}){self.dialect.number}"

    def selected(self) -> str:
        """Return rows with five columns: kind, key, two counts, name."""
        number = "CAST({0} AS bigint)"
        id_text = self.dialect.id
        bytewise = self.dialect.bytewise
        # The tenth requester's count decides who is included; ties are broken by id.
        return f"""
SELECT 'bucket', CAST({self.dialect.unix.format("bucket")} AS text), {number.format("sum(requests)")},
  {number.format("sum(CASE outcome WHEN '' THEN requests ELSE 0 END)")}, NULL FROM figures GROUP BY bucket
UNION ALL SELECT 'reason', outcome, {number.format("sum(requests)")}, 0, NULL
  FROM figures WHERE outcome <> '' GROUP BY outcome
UNION ALL SELECT 'uniqueContent', '', count(*), 0, NULL FROM content
UNION ALL SELECT 'uniqueRequesters', '', count(*), 0, NULL FROM requester
UNION ALL SELECT 'content', {id_text.format("top.id")}, {number.format("top.n")}, 0, item.title
  FROM (SELECT id, n FROM content ORDER BY n DESC, id LIMIT {TOP}) top
  LEFT JOIN licensing_content item ON item.id = top.id
UNION ALL SELECT * FROM (SELECT 'requester', asked.requester_id, {number.format("top.n")}, asked.id, asked.name
  FROM (SELECT id, n FROM requester
        WHERE n >= (SELECT min(n) FROM (SELECT n FROM requester ORDER BY n DESC LIMIT {TOP}) ten)) top
  JOIN licensing_requester asked ON asked.id = top.id
  ORDER BY top.n DESC, asked.requester_id {bytewise} LIMIT {TOP}) askers"""  # noqa: S608
