"""Report periods and their buckets: `period`, `startDate`, `endDate`, `groupBy` (docs/reference/reports.md).

Everything is UTC. A window consists of whole days up to today unless timestamps are given. Internally it is half-open:
`end` is the first microsecond after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from drf_spectacular.utils import OpenApiParameter

from kit.http.errors import InvalidRequest
from kit.values.shown import MAX_SHOWN
from kit.values.suggestions import did_you_mean
from kit.values.timestamps import IS_DATE, MOMENT_SCHEMA, parse_timestamp, render_timestamp

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
PERIODS = {"7d": 7, "30d": 30, "90d": 90, "year": 365}  # in days; "all" begins with the first event
ALL = "all"
GROUPS = ("hour", "day", "week", "month")
MOST_BUCKETS = 10_000
YEARS = range(1000, 9000)  # wide enough for real data, narrow enough that date arithmetic never overflows


def midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def floor(moment: datetime, group_by: str) -> datetime:
    """Return the start of the bucket that contains the time."""
    if group_by == "hour":
        return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    day = midnight(moment)
    if group_by == "week":
        return day - day.weekday() * DAY
    return day.replace(day=1) if group_by == "month" else day


def bucket_after(bucket: datetime, group_by: str) -> datetime:
    if group_by == "month":
        return (bucket.replace(day=28) + 4 * DAY).replace(day=1)
    return bucket + {"hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY}[group_by]


def end_of_day(moment: datetime) -> datetime:
    return midnight(moment) + DAY


def start_of_period(end: datetime, period: str) -> datetime:
    """Return the start of a period (a key of PERIODS) of whole days whose last day contains the moment before
    `end`.
    """
    return midnight(end - MICROSECOND) - (PERIODS[period] - 1) * DAY


@dataclass(frozen=True)
class Window:
    """From `start` (included) to `end` (excluded), in buckets of `group_by`."""

    start: datetime
    end: datetime
    group_by: str

    def buckets(self) -> list[datetime]:
        """Return the start of each bucket, oldest first. The first and last may extend beyond the window."""
        buckets = [floor(self.start, self.group_by)]
        while (following := bucket_after(buckets[-1], self.group_by)) < self.end:
            buckets.append(following)
        return buckets

    def bucket_of(self, moment: datetime) -> datetime:
        return floor(moment, self.group_by)

    def label(self, bucket: datetime) -> str | None:
        """Return a bucket's `date`: `YYYY-MM-DD`, or a timestamp for an hour."""
        return render_timestamp(bucket) if self.group_by == "hour" else f"{bucket:%Y-%m-%d}"

    def count_buckets(self) -> int:
        """Return the number of buckets without building them."""
        first, last = floor(self.start, self.group_by), floor(self.end - MICROSECOND, self.group_by)
        if self.group_by == "month":
            return (last.year - first.year) * 12 + last.month - first.month + 1
        return (last - first) // (bucket_after(first, self.group_by) - first) + 1


@dataclass(frozen=True)
class Grammar:
    """The query parameters that a report accepts."""

    periods: tuple[str, ...]
    groups: tuple[str, ...]
    period: str = "30d"
    group_by: str = "day"

    names = frozenset({"period", "startDate", "endDate", "groupBy"})

    def parse(self, query: Mapping[str, str], now: datetime, first: Callable[[], datetime | None]) -> Window:
        """Return the requested window; `first` returns the start of `all`, None without data.

        `startDate` and `endDate` override `period`; with only `endDate`, the period ends there. Raises InvalidRequest.
        """
        period = one_of(self.periods, query, "period", self.period)
        group_by = one_of(self.groups, query, "groupBy", self.group_by)
        end = read_end(query["endDate"]) if "endDate" in query else end_of_day(now)
        last_day = midnight(end - MICROSECOND)
        if "startDate" in query:
            start = read_moment("startDate", query["startDate"])
            if start >= end:
                latest = f"endDate {query['endDate']}" if "endDate" in query else f"today, {last_day:%Y-%m-%d}"
                raise InvalidRequest(
                    f"startDate is after {latest}: {query['startDate']}. Give an earlier startDate.", param="startDate"
                )
        elif period == ALL:
            start = min(midnight(first() or last_day), last_day)
        else:
            start = start_of_period(end, period)
        window = Window(start, end, group_by)
        if window.count_buckets() > MOST_BUCKETS:
            raise InvalidRequest(
                f"This window has {window.count_buckets()} buckets of a {group_by}, and a report at most "
                f"{MOST_BUCKETS}: take a coarser groupBy or a shorter window.",
                param="groupBy",
            )
        return window

    def documented(self) -> list[OpenApiParameter]:
        both = "A date or a timestamp; the window includes it."
        return [
            OpenApiParameter(
                "period",
                str,
                enum=self.periods,
                default=self.period,
                description="Whole UTC days that end today; `year` has 365 of them."
                + (" `all` begins with the first event." if ALL in self.periods else ""),
            ),
            OpenApiParameter("startDate", MOMENT_SCHEMA, description=f"Overrides `period`. {both}"),
            OpenApiParameter(
                "endDate", MOMENT_SCHEMA, description=f"Today by default. {both} Without startDate, ends the period."
            ),
            OpenApiParameter(
                "groupBy",
                str,
                enum=self.groups,
                default=self.group_by,
                description=f"The buckets of `timeSeries`, at most {MOST_BUCKETS:,}.",
            ),
        ]


USAGE = Grammar((*PERIODS, ALL), GROUPS)
REVENUE = Grammar((*PERIODS, ALL), GROUPS[1:])


def one_of(choices: tuple[str, ...], query: Mapping[str, str], name: str, default: str) -> str:
    value = query.get(name, default)
    if value not in choices:
        suggestion = did_you_mean(value, choices)
        raise InvalidRequest(
            f"{name} must be one of: {', '.join(choices)}; not {value[:MAX_SHOWN]!r}.{suggestion}", param=name
        )
    return value


def read_moment(name: str, text: str) -> datetime:
    try:
        moment = parse_timestamp(text)
        if moment.year not in YEARS:
            raise ValueError(f"Must be in the years {YEARS[0]} to {YEARS[-1]}.")
    except ValueError as error:
        raise InvalidRequest(f"{name}: {error}", param=name) from None
    return moment


def read_end(text: str) -> datetime:
    """Return the exclusive end: a date includes the whole day, a timestamp its own microsecond."""
    return read_moment("endDate", text) + (DAY if IS_DATE(text) else MICROSECOND)
