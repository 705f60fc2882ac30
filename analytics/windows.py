"""Report periods and their buckets: `period`, `startDate`, `endDate`, `groupBy` (docs/reference/reports.md).

Days are those of `timeZone`, by default UTC. A window consists of whole days up to today unless timestamps are given.
Internally it is half-open: `end` is the first microsecond after it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from drf_spectacular.utils import OpenApiParameter

from kit.http.errors import InvalidRequest
from kit.values.calendar import first_of_month, start_of_day, zone_named
from kit.values.suggestions import MAX_SHOWN, did_you_mean
from kit.values.time_zones import parse_zone_name
from kit.values.timestamps import MOMENT_SCHEMA, match_date, parse_date, parse_timestamp, render_timestamp

DAY = timedelta(days=1)
MICROSECOND = timedelta(microseconds=1)
PERIODS = {"7d": 7, "30d": 30, "90d": 90, "year": 365}  # in days; "all" begins with the first event
ALL = "all"
GROUPS = ("hour", "day", "week", "month")
MAX_BUCKETS = 10_000
YEARS = range(1000, 9000)  # wide enough for real data, narrow enough that date arithmetic never overflows


def midnight(moment: datetime, zone: tzinfo = UTC) -> datetime:
    return start_of_day(moment.astimezone(zone).date(), zone)


def floor(moment: datetime, group_by: str, zone: tzinfo = UTC) -> datetime:
    """Return the start of the bucket that contains the time."""
    local = moment.astimezone(zone)
    if group_by == "hour":
        within = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
        return moment.astimezone(UTC) - within
    day = local.date()
    if group_by == "week":
        day -= day.weekday() * DAY
    return start_of_day(day.replace(day=1) if group_by == "month" else day, zone)


def bucket_after(bucket: datetime, group_by: str, zone: tzinfo = UTC) -> datetime:
    if group_by == "hour":
        return bucket + timedelta(hours=1)
    day = bucket.astimezone(zone).date()
    if group_by == "month":
        return start_of_day(first_of_month(day, 1), zone)
    return start_of_day(day + {"day": DAY, "week": 7 * DAY}[group_by], zone)


def end_of_day(moment: datetime, zone: tzinfo = UTC) -> datetime:
    return start_of_day(moment.astimezone(zone).date() + DAY, zone)


def start_of_period(end: datetime, period: str, zone: tzinfo = UTC) -> datetime:
    """Return the start of a period (a key of PERIODS) of whole days whose last day contains the moment before
    `end`.
    """
    last = (end - MICROSECOND).astimezone(zone).date()
    return start_of_day(last - (PERIODS[period] - 1) * DAY, zone)


@dataclass(frozen=True)
class Window:
    """From `start` (included) to `end` (excluded), in buckets of `group_by`."""

    start: datetime
    end: datetime
    group_by: str
    zone: tzinfo = UTC  # of its days
    compared_from: datetime | None = None  # the start of the window just before, if that has not as many days

    @property
    def before(self) -> datetime:
        """The start of the window just before, by default of as many days."""
        if self.compared_from is not None:
            return self.compared_from
        start, end = (moment.astimezone(self.zone).replace(tzinfo=None) for moment in (self.start, self.end))
        return (start - (end - start)).replace(tzinfo=self.zone).astimezone(UTC)

    def time_until(self, end: datetime) -> timedelta:
        """Return the time from the start on the zone's clock, whose days all have 24 hours."""
        first, last = (moment.astimezone(self.zone).replace(tzinfo=None) for moment in (self.start, end))
        return last - first

    def buckets(self) -> list[datetime]:
        """Return the start of each bucket, oldest first. The first and last may extend beyond the window."""
        buckets = [floor(self.start, self.group_by, self.zone)]
        while (following := bucket_after(buckets[-1], self.group_by, self.zone)) < self.end:
            buckets.append(following)
        return buckets

    def bucket_start(self, moment: datetime) -> datetime:
        return floor(moment, self.group_by, self.zone)

    def label(self, bucket: datetime) -> str | None:
        """Return a bucket's `date`: `YYYY-MM-DD`, or a timestamp for an hour."""
        if self.group_by == "hour":
            return render_timestamp(bucket)
        return f"{bucket.astimezone(self.zone):%Y-%m-%d}"

    def count_buckets(self) -> int:
        """Return the number of buckets without building them."""
        first, last = self.bucket_start(self.start), self.bucket_start(self.end - MICROSECOND)
        if self.group_by == "hour":
            return (last - first) // timedelta(hours=1) + 1
        begin, end = first.astimezone(self.zone).date(), last.astimezone(self.zone).date()
        if self.group_by == "month":
            return (end.year - begin.year) * 12 + end.month - begin.month + 1
        return (end - begin).days // (7 if self.group_by == "week" else 1) + 1


@dataclass(frozen=True)
class Grammar:
    """The query parameters that a report accepts."""

    periods: tuple[str, ...]
    groups: tuple[str, ...]
    period: str = "30d"
    group_by: str = "day"

    names = frozenset({"period", "startDate", "endDate", "groupBy", "timeZone"})

    def parse(self, query: Mapping[str, str], now: datetime, first: Callable[[], datetime | None]) -> Window:
        """Return the requested window; `first` returns the start of `all`, None without data.

        `startDate` and `endDate` override `period`; with only `endDate`, the period ends there. Raises InvalidRequest.
        """
        period = read_choice(self.periods, query, "period", self.period)
        group_by = read_choice(self.groups, query, "groupBy", self.group_by)
        zone = read_zone(query)
        if "endDate" in query:
            end = read_end(query["endDate"], zone)
        else:
            end = end_of_day(now, zone)
        last_day = midnight(end - MICROSECOND, zone)
        if "startDate" in query:
            start = read_moment("startDate", query["startDate"], zone)
            if start >= end:
                today = f"today, {last_day.astimezone(zone):%Y-%m-%d}"
                latest = f"endDate {query['endDate']}" if "endDate" in query else today
                raise InvalidRequest(
                    f"startDate is after {latest}: {query['startDate']}. Give an earlier startDate.", param="startDate"
                )
        elif period == ALL:
            start = min(midnight(first() or last_day, zone), last_day)
        else:
            start = start_of_period(end, period, zone)
        window = Window(start, end, group_by, zone)
        if window.count_buckets() > MAX_BUCKETS:
            raise InvalidRequest(
                f"This window has {window.count_buckets()} buckets of a {group_by}, and a report at most "
                f"{MAX_BUCKETS}: take a coarser groupBy or a shorter window.",
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
                description="Whole days that end today; `year` has 365 of them."
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
                description=f"The buckets of `timeSeries`, at most {MAX_BUCKETS:,}.",
            ),
            OpenApiParameter(
                "timeZone",
                {"type": "string", "format": "time-zone"},
                default="UTC",
                description="The IANA name of the time zone whose days, weeks and months count, such as "
                "`Europe/Berlin`. Timestamps in the reply stay in UTC.",
            ),
        ]


USAGE = Grammar((*PERIODS, ALL), GROUPS)
REVENUE = Grammar((*PERIODS, ALL), GROUPS[1:])


def read_choice(choices: tuple[str, ...], query: Mapping[str, str], name: str, default: str) -> str:
    value = query.get(name, default)
    if value not in choices:
        suggestion = did_you_mean(value, choices)
        raise InvalidRequest(
            f"{name} must be one of: {', '.join(choices)}; not {value[:MAX_SHOWN]!r}.{suggestion}", param=name
        )
    return value


def read_zone(query: Mapping[str, str]) -> tzinfo:
    """Return the requested time zone, by default UTC. Raises InvalidRequest."""
    try:
        return zone_named(parse_zone_name(query.get("timeZone", "UTC")))
    except ValueError as error:
        raise InvalidRequest(f"timeZone: {error}", param="timeZone") from None


def read_moment(name: str, text: str, zone: tzinfo = UTC) -> datetime:
    """Return a timestamp, or the start of a date's day in the zone. Raises InvalidRequest."""
    try:
        if match_date(text):
            moment = start_of_day(parse_date(text), zone)
        else:
            moment = parse_timestamp(text)
        if moment.year not in YEARS:
            raise ValueError(f"Must be in the years {YEARS[0]} to {YEARS[-1]}.")
    except ValueError as error:
        raise InvalidRequest(f"{name}: {error}", param=name) from None
    return moment


def read_end(text: str, zone: tzinfo = UTC) -> datetime:
    """Return the exclusive end: a date includes the whole day, a timestamp its own microsecond."""
    moment = read_moment("endDate", text, zone)
    return end_of_day(moment, zone) if match_date(text) else moment + MICROSECOND
