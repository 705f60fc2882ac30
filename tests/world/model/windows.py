"""Report windows as in docs/reference/reports.md: whole UTC days, both ends inclusive."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
PERIODS = {"7d": 7, "30d": 30, "90d": 90, "year": 365}


@dataclass(frozen=True)
class Window:
    """From `start` (inclusive) to `end` (exclusive)."""

    start: datetime
    end: datetime
    group_by: str

    def has(self, moment: datetime) -> bool:
        return self.start <= moment < self.end

    @property
    def before(self) -> "Window":
        return Window(self.start - (self.end - self.start), self.start, self.group_by)

    def bucket(self, moment: datetime) -> datetime:
        if self.group_by == "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
        if self.group_by == "week":
            return day - day.weekday() * DAY
        return day.replace(day=1) if self.group_by == "month" else day

    def buckets(self) -> list[datetime]:
        found = [self.bucket(self.start)]
        steps = {"hour": timedelta(hours=1), "day": DAY, "week": 7 * DAY, "month": timedelta(days=32)}
        while (following := self.bucket(found[-1] + steps[self.group_by])) < self.end:
            found.append(following)
        return found

    def label(self, bucket: datetime) -> str:
        return f"{bucket:%Y-%m-%dT%H:%M:%S.%fZ}" if self.group_by == "hour" else f"{bucket:%Y-%m-%d}"


def midnight(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def read(text: str) -> tuple[datetime, bool]:
    """Return the time, and whether the text was a date."""
    if len(text) == len("2027-01-01"):
        return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC), True
    return datetime.fromisoformat(text).astimezone(UTC), False


def window_of(query: Mapping[str, str], now: datetime, first: datetime) -> Window:
    """Return the window of a report requested `now`; `first` is the time of the first decision or entry."""
    if "endDate" in query:
        end, is_date = read(query["endDate"])
        end += DAY if is_date else TICK
    else:
        end = midnight(now) + DAY
    if "startDate" in query:
        start, _ = read(query["startDate"])
    elif query.get("period") == "all":
        start = midnight(first)
    else:
        start = midnight(end - TICK) - (PERIODS[query.get("period", "30d")] - 1) * DAY
    return Window(start, end, query.get("groupBy", "day"))
