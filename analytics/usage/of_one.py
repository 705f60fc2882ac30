"""The decisions about one item or requester: allowed and denied by day, and the reasons.

Days are those of the window's zone; of UTC, as in the rollups, if not all of its decisions can be grouped.

The rollups of an item or requester have no outcomes (analytics.models.usage). So the newest decisions, found by index,
are grouped by outcome; for earlier days only the number of requests is known.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from django.db import connection
from msgspec import Struct

from analytics.events.partitions import first_id
from analytics.events.retention import recorded_since
from analytics.models import AccessEvent, ContentMonth, RequesterMonth
from analytics.models.usage import DAYS
from analytics.rollups.roll_up import HAS_PENDING_ROWS
from analytics.rollups.upserts import adapt, month_number
from analytics.usage.report import One, pending_decisions
from analytics.usage.report_sql import dialect
from analytics.windows import DAY, MICROSECOND, Window, end_of_day
from kit.storage.prepared import Parameter, prepare
from kit.values import ids

Key = str | int  # an item's id or a requester's number

MOST = 20_000  # newest decisions to group by outcome
# A decision's time and its id's time, which determines the partition, differ by less.
SLACK = DAY
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)  # the offsets of all zones are multiples of it
MONTHS = {"content": ContentMonth, "requester": RequesterMonth}


class DayOfOne(Struct, frozen=True):
    """A day's decisions; `allowed` is None if only the number of requests is known."""

    date: date
    requests: int
    allowed: int | None

    @property
    def denied(self) -> int | None:
        return None if self.allowed is None else self.requests - self.allowed


class UsageOfOne(Struct, frozen=True):
    """A window's days, oldest first, and the reasons for denials, most frequent first."""

    days: list[DayOfOne]
    reasons: list[tuple[str, int]]
    window: Window  # whose days are counted

    @property
    def requests(self) -> int:
        return sum(day.requests for day in self.days)

    @property
    def allowed(self) -> int:
        return sum(day.allowed or 0 for day in self.days)

    @property
    def denied(self) -> int:
        return sum(day.denied or 0 for day in self.days)

    @property
    def has_outcomes(self) -> bool:
        """Whether the outcomes of any day are known; not if the last day has more than MOST decisions."""
        return any(day.allowed is not None for day in self.days)

    @property
    def known_since(self) -> date | None:
        """Return the first day with known outcomes; None if all days have them."""
        known = [day.date for day in self.days if day.allowed is not None]
        if len(known) == len(self.days):
            return None
        return min(known, default=self.days[-1].date + DAY)


def usage_of_one(one: One, account_id: str, key: Key, window: Window) -> UsageOfOne:
    """Return the decisions by day for a window of whole days."""
    outcomes = newest(one, account_id, key, window)
    first = window.start.astimezone(window.zone).date()
    kept = recorded_since()
    was_purged = kept is not None and kept > window.start
    is_incomplete = was_purged or sum(outcomes.values()) == MOST
    if is_incomplete and str(window.zone) != "UTC":
        return usage_of_one(one, account_id, key, utc_window(window))
    if sum(outcomes.values()) == MOST:
        first = min(day for day, _ in outcomes) + DAY  # the earliest day may be incomplete
    if kept is not None and was_purged:
        first = max(first, kept.date())
    totals = requests_by_day(one, account_id, key, window, first) if is_incomplete else {}
    days = []
    for bucket in window.buckets():
        day = bucket.astimezone(window.zone).date()
        counts = {outcome: count for (on, outcome), count in outcomes.items() if on == day}
        if day < first:
            days.append(DayOfOne(day, totals.get(day, 0), None))
        else:
            days.append(DayOfOne(day, sum(counts.values()), counts.get("", 0)))
    reasons: dict[str, int] = {}
    for (day, outcome), count in outcomes.items():
        if outcome and day >= first:
            reasons[outcome] = reasons.get(outcome, 0) + count
    return UsageOfOne(days, sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0])), window)


def utc_window(window: Window) -> Window:
    """Return as many days of UTC that end with the window's last day."""
    end = end_of_day(window.end - MICROSECOND)
    return Window(end - len(window.buckets()) * DAY, end, window.group_by)


def newest(one: One, account_id: str, key: Key, window: Window) -> dict[tuple[date, str], int]:
    """Group the newest MOST decisions of the window by day and outcome."""
    parameters: list[Parameter] = [
        prepare(AccessEvent, f"{one}_id", key),
        prepare(AccessEvent, "account_id", account_id),
        prepare(AccessEvent, "id", ids.encode("dec", first_id(window.start - SLACK).bytes)),
        window.start,
        window.end,
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {dialect().quarter} AS quarter, outcome, count(*) FROM (
              SELECT created, coalesce(reason, '') AS outcome FROM analytics_accessevent
              WHERE {one}_id = %s AND account_id = %s AND id >= %s AND created >= %s AND created < %s
              ORDER BY created DESC LIMIT {MOST:d}) newest
            GROUP BY 1, 2""",  # noqa: S608 - made of constants
            [adapt(value) for value in parameters],
        )
        counted: Counter[tuple[date, str]] = Counter()
        for quarter, outcome, count in cursor.fetchall():
            day = (EPOCH + quarter * QUARTER).astimezone(window.zone).date()
            counted[day, outcome] += int(count)
        return counted


def requests_by_day(one: One, account_id: str, key: Key, window: Window, until: date) -> dict[date, int]:
    """Return the number of decisions per day before `until`, from rollups and pending rows."""
    totals = dict(rolled_up(one, account_id, key, window.start.date(), min(until, (window.end - MICROSECOND).date())))
    for day, count in pending_usage(one, account_id, key, window.start, until):
        totals[day] = totals.get(day, 0) + count
    return totals


def rolled_up(one: One, account_id: str, key: Key, first: date, last: date) -> Iterator[tuple[date, int]]:
    months = range(month_number(first), month_number(last) + 1)
    rows = MONTHS[one]._default_manager.filter(**{"account_id": account_id, f"{one}_id": key, "month__in": months})
    days_by_month = {month: counts for month, *counts in rows.values_list("month", *DAYS)}
    day = first
    while day <= last:
        if counts := days_by_month.get(month_number(day)):
            yield day, counts[day.day - 1] - (counts[day.day - 2] if day.day > 1 else 0)
        day += DAY


def pending_usage(one: One, account_id: str, key: Key, start: datetime, until: date) -> list[tuple[date, int]]:
    if not HAS_PENDING_ROWS:
        return []
    value = prepare(AccessEvent, f"{one}_id", key)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT (hour AT TIME ZONE 'UTC')::date, count(*) FROM {pending_decisions(one)}
            WHERE hour >= %s AND hour < %s GROUP BY 1""",  # noqa: S608 - made of constants
            [prepare(AccessEvent, "account_id", account_id), value, value, adapt(start), until],
        )
        return [(day, int(count)) for day, count in cursor.fetchall()]
