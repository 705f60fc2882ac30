"""The `schedule` condition: days and hours in a time zone. Uses neither ORM nor HTTP.

Hours across midnight belong to the day on which they begin. On days of a clock change the local clock decides: hours
that would begin in the skipped hour begin right after it, and the repeated hour counts twice.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from kit.openapi.components import COMPONENT
from kit.values.faults import Fault
from kit.values.suggestions import such_as
from kit.values.time_zones import parse_zone_name
from licensing.policies.condition_values import Fields, Schema, parse_one_or_more

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# minutes
MIDNIGHT = 0
DAY = 24 * 60
WEEK = 7 * DAY
WHOLE_WEEK = (1 << WEEK) - 1  # a bit for each minute
EXAMPLE = {"days": ["mon", "fri"], "from": "09:00", "to": "18:00", "timeZone": "Europe/Berlin"}
CONDITION_RULE = f"Must be an object with a timeZone, and days, or from and to, or both{such_as(EXAMPLE)}."
CLOCK_PATTERN = "([01][0-9]|2[0-3]):[0-5][0-9]"
match_clock = re.compile(CLOCK_PATTERN).fullmatch
WEEKS = 15  # days to search; hours skipped by a clock change recur within them
ONE_DAY = timedelta(days=1)
INSTANT = timedelta(microseconds=1)
# Moments this close to the calendar's ends have no local time in some zones.
FIRST = datetime.min.replace(tzinfo=UTC) + 2 * ONE_DAY
LAST = datetime.max.replace(tzinfo=UTC) - 2 * ONE_DAY


@dataclass(frozen=True, slots=True)
class Schedule:
    days: frozenset[int]  # Monday is 0
    start: int  # minutes since midnight; `end` is exclusive
    end: int
    zone: ZoneInfo

    def holds(self, moment: datetime) -> bool:
        if not FIRST <= moment <= LAST:
            return False
        local = moment.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        day = local.weekday()
        if self.start < self.end:
            return day in self.days and self.start <= minute < self.end
        return (day in self.days and minute >= self.start) or ((day - 1) % 7 in self.days and minute < self.end)

    def next_change(self, moment: datetime) -> datetime | None:
        """Return when its result next changes; None if it always holds."""
        if self.is_whole_week or not FIRST <= moment <= LAST:
            return None
        day = moment.astimezone(UTC).date()
        for number in range(min(WEEKS, (LAST.date() - day).days)):
            for change in changes_on(self, day + number * ONE_DAY):
                if change > moment:
                    return change
        return None

    def next_hold(self, moment: datetime) -> datetime | None:
        """Return the first moment from this one on at which it holds."""
        return moment if self.holds(moment) else self.next_change(moment)

    @property
    def is_whole_week(self) -> bool:
        return len(self.days) == len(DAYS) and self.end - self.start == DAY

    def minutes(self) -> int:
        """Return the minutes of the week (from Monday 00:00, local clock) at which it holds, one bit for each."""
        length = self.end - self.start if self.start < self.end else self.end - self.start + DAY
        hours = (1 << length) - 1
        minutes = 0
        for day in self.days:
            minutes |= hours << (day * DAY + self.start)
        return (minutes | minutes >> WEEK) & WHOLE_WEEK


class Stretch(NamedTuple):
    """A time in which a schedule's result stays the same: from `begin` until before `end`."""

    begin: datetime
    end: datetime
    holds: bool


class CurrentSchedule:
    """A schedule that remembers its current stretch, because the checks of a batch all ask for the same moment."""

    __slots__ = ("schedule", "stretch")

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.stretch: Stretch | None = None

    def stretch_at(self, moment: datetime) -> Stretch | None:
        """Return the remembered stretch if the moment lies in it."""
        stretch = self.stretch  # another thread may replace it meanwhile
        return stretch if stretch is not None and stretch.begin <= moment < stretch.end else None

    def holds(self, moment: datetime) -> bool:
        stretch = self.stretch_at(moment)
        return self.schedule.holds(moment) if stretch is None else stretch.holds

    def next_change(self, moment: datetime) -> datetime | None:
        stretch = self.stretch_at(moment)
        if stretch is not None:
            return stretch.end
        end = self.schedule.next_change(moment)
        if end is not None:
            self.stretch = Stretch(moment, end, self.schedule.holds(moment))
        return end


@lru_cache(maxsize=4_096)
def changes_on(schedule: Schedule, day: date) -> tuple[datetime, ...]:
    """Return the sorted moments of a UTC day at which the schedule begins or ceases to hold."""
    begin = datetime.combine(day, time(), UTC)
    moments = set()
    for first, last in stretches(schedule.zone, begin, begin + ONE_DAY):
        fixed = timezone(schedule.zone.utcoffset(first.astimezone(schedule.zone)) or timedelta())
        today = datetime.combine(first.astimezone(fixed).date(), time(), fixed)
        marks = []
        for number in range(3):
            for minute in (schedule.start, schedule.end):
                marks.append(today + timedelta(days=number, minutes=minute))
        moments |= {first, *(mark.astimezone(UTC) for mark in marks if first <= mark < last)}
    return tuple(
        sorted(moment for moment in moments if schedule.holds(moment) is not schedule.holds(moment - INSTANT))
    )


def stretches(zone: ZoneInfo, begin: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Split a period at clock changes of the zone."""

    def offset(moment: datetime) -> timedelta | None:
        return moment.astimezone(zone).utcoffset()

    if offset(begin) == offset(end - INSTANT):
        yield begin, end
        return
    # the clock change is between them
    before = begin
    after = end
    while after - before > timedelta(seconds=1):
        middle = (before + (after - before) / 2).replace(microsecond=0)
        if offset(middle) == offset(begin):
            before = middle
        else:
            after = middle
    yield begin, after
    yield after, end


# --- From JSON -------------------------------------------------------------------------------------------------------


def parse_zone(value: object, path: str) -> ZoneInfo:
    try:
        return ZoneInfo(parse_zone_name(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise Fault(path, str(error)) from None


def parse_clock(value: object, path: str) -> int:
    """Parse HH:MM to minutes since midnight."""
    if not isinstance(value, str) or not match_clock(value):
        hint = " Midnight is 00:00." if value == "24:00" else ""
        raise Fault(path, f"Must be a time from 00:00 to 23:59, as 09:00.{hint}")
    hour, minute = value.split(":")
    return int(hour) * 60 + int(minute)


def parse_day(value: object, path: str) -> int:
    if not isinstance(value, str) or value not in DAYS:
        raise Fault(path, f"Must be one of: {', '.join(DAYS)}.")
    return DAYS.index(value)


def parse_days(value: object, path: str) -> frozenset[int]:
    return frozenset(parse_one_or_more(value, path, parse_day))


def parse_schedule(value: object, path: str) -> Schedule:
    """Parse the condition. Raises Fault with everything that is invalid."""
    fields = Fields(value, path, ("days", "from", "to", "timeZone"), ("timeZone",), CONDITION_RULE)
    zone = fields.read("timeZone", parse_zone, None)
    days = fields.read("days", parse_days, frozenset(range(7)))
    start = fields.read("from", parse_clock, None)
    end = fields.read("to", parse_clock, None)
    names = fields.given
    faults = fields.faults
    for name, other in (("from", "to"), ("to", "from")):
        faults.expect(name in names or other not in names, f"{path}.{name}", f"Give both {other} and {name}, or none.")
    faults.expect("days" in names or {"from", "to"} & names.keys() != set(), path, CONDITION_RULE)
    faults.expect(start is None or start != end, f"{path}.to", "Must not be from: for whole days leave out both.")
    faults.raise_first()
    if zone is None:
        raise TypeError
    return Schedule(days, MIDNIGHT if start is None else start, DAY if end is None else end, zone)


class Hours(NamedTuple):
    """A schedule in a form that is compared quickly: the minutes of the week, one bit for each."""

    zone: ZoneInfo
    minutes: int


def comparable_schedule(value: object) -> Hours:
    schedule = parse_schedule(value, "")
    return Hours(schedule.zone, schedule.minutes())


def covers_schedule(hours: Hours, other: Hours) -> bool:
    """Return whether the first schedule holds whenever the second does. False for different time zones."""
    return hours.minutes == WHOLE_WEEK or (hours.zone == other.zone and not other.minutes & ~hours.minutes)


CLOCK_SCHEMA: Schema = {"type": "string", "pattern": f"^{CLOCK_PATTERN}$", "example": "09:00"}
DAY_SCHEMA: Schema = {COMPONENT: "Weekday", "type": "string", "enum": list(DAYS)}
CONDITION_SCHEMA: Schema = {
    COMPONENT: "Schedule",
    "type": "object",
    "required": ["timeZone"],
    "minProperties": 2,
    "additionalProperties": False,
    "properties": {
        "days": {
            "description": "Every day, unless given. Hours across midnight belong to the day on which they begin.",
            "oneOf": [
                DAY_SCHEMA,
                {COMPONENT: "Weekdays", "type": "array", "items": DAY_SCHEMA, "minItems": 1, "maxItems": 500},
            ],
        },
        "from": {**CLOCK_SCHEMA, "description": "With `to`; without both it is the whole day."},
        "to": {**CLOCK_SCHEMA, "description": "Not part of the hours. Earlier than `from`: on the next day."},
        "timeZone": {
            "type": "string",
            "format": "time-zone",
            "description": "Of the IANA time zone database, as `Europe/Berlin`.",
            "example": EXAMPLE["timeZone"],
        },
    },
    "dependentRequired": {"from": ["to"], "to": ["from"]},
    "example": {**EXAMPLE, "days": list(DAYS[:5])},
}
