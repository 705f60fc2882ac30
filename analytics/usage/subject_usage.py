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
from analytics.usage.report import Subject, pending_decisions
from analytics.usage.report_sql import dialect
from analytics.windows import DAY, MICROSECOND, Window, end_of_day
from kit.storage.prepared import Parameter, prepare
from kit.values import ids

Key = str | int  # an item's id or a requester's number

MAX_GROUPED = 20_000  # newest decisions to group by outcome
# A decision's time and its id's time, which determines the partition, differ by less.
ID_TIME_SLACK = DAY
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)  # the offsets of all zones are multiples of it
MONTHS = {"content": ContentMonth, "requester": RequesterMonth}


class SubjectDay(Struct, frozen=True):
    """A day's decisions; `allowed` is None if only the number of requests is known."""

    date: date
    requests: int
    allowed: int | None

    @property
    def denied(self) -> int | None:
        return None if self.allowed is None else self.requests - self.allowed


class SubjectUsage(Struct, frozen=True):
    """A window's days, oldest first, and the reasons for denials, most frequent first."""

    days: list[SubjectDay]
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
        known_days = [day.date for day in self.days if day.allowed is not None]
        if len(known_days) == len(self.days):
            return None
        return min(known_days, default=self.days[-1].date + DAY)


def read_subject_usage(subject: Subject, account_id: str, key: Key, window: Window) -> SubjectUsage:
    """Return the decisions by day for a window of whole days."""
    outcomes = count_newest(subject, account_id, key, window)
    first = window.start.astimezone(window.zone).date()
    recorded_from = recorded_since()
    was_purged = recorded_from is not None and recorded_from > window.start
    is_incomplete = was_purged or sum(outcomes.values()) == MAX_GROUPED
    if is_incomplete and str(window.zone) != "UTC":
        return read_subject_usage(subject, account_id, key, utc_window(window))
    if sum(outcomes.values()) == MAX_GROUPED:
        first = min(day for day, _ in outcomes) + DAY  # the earliest day may be incomplete
    if recorded_from is not None and was_purged:
        first = max(first, recorded_from.date())
    totals = requests_by_day(subject, account_id, key, window, first) if is_incomplete else {}
    days = []
    for bucket in window.buckets():
        day = bucket.astimezone(window.zone).date()
        counts = {outcome: count for (decided_on, outcome), count in outcomes.items() if decided_on == day}
        if day < first:
            days.append(SubjectDay(day, totals.get(day, 0), None))
        else:
            days.append(SubjectDay(day, sum(counts.values()), counts.get("", 0)))
    reasons: dict[str, int] = {}
    for (day, outcome), count in outcomes.items():
        if outcome and day >= first:
            reasons[outcome] = reasons.get(outcome, 0) + count
    return SubjectUsage(days, sorted(reasons.items(), key=lambda reason: (-reason[1], reason[0])), window)


def utc_window(window: Window) -> Window:
    """Return as many days of UTC that end with the window's last day."""
    end = end_of_day(window.end - MICROSECOND)
    return Window(end - len(window.buckets()) * DAY, end, window.group_by)


def count_newest(subject: Subject, account_id: str, key: Key, window: Window) -> dict[tuple[date, str], int]:
    """Group the newest MOST decisions of the window by day and outcome."""
    parameters: list[Parameter] = [
        prepare(AccessEvent, f"{subject}_id", key),
        prepare(AccessEvent, "account_id", account_id),
        prepare(AccessEvent, "id", ids.encode("dec", first_id(window.start - ID_TIME_SLACK).bytes)),
        window.start,
        window.end,
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {dialect().quarter} AS quarter, outcome, count(*) FROM (
              SELECT created, coalesce(reason, '') AS outcome FROM analytics_accessevent
              WHERE {subject}_id = %s AND account_id = %s AND id >= %s AND created >= %s AND created < %s
              ORDER BY created DESC LIMIT {MAX_GROUPED:d}) newest
            GROUP BY 1, 2""",  # noqa: S608 - made of constants
            [adapt(value) for value in parameters],
        )
        counts: Counter[tuple[date, str]] = Counter()
        for quarter, outcome, count in cursor.fetchall():
            day = (EPOCH + quarter * QUARTER).astimezone(window.zone).date()
            counts[day, outcome] += int(count)
        return counts


def requests_by_day(subject: Subject, account_id: str, key: Key, window: Window, until: date) -> dict[date, int]:
    """Return the number of decisions per day before `until`, from rollups and pending rows."""
    totals = dict(
        read_rollups(subject, account_id, key, window.start.date(), min(until, (window.end - MICROSECOND).date()))
    )
    for day, count in pending_usage(subject, account_id, key, window.start, until):
        totals[day] = totals.get(day, 0) + count
    return totals


def read_rollups(subject: Subject, account_id: str, key: Key, first: date, last: date) -> Iterator[tuple[date, int]]:
    months = range(month_number(first), month_number(last) + 1)
    rows = MONTHS[subject]._default_manager.filter(
        **{"account_id": account_id, f"{subject}_id": key, "month__in": months}
    )
    days_by_month = {month: counts for month, *counts in rows.values_list("month", *DAYS)}
    day = first
    while day <= last:
        running = days_by_month.get(month_number(day))
        if running:
            before = running[day.day - 2] if day.day > 1 else 0
            yield day, running[day.day - 1] - before
        day += DAY


def pending_usage(subject: Subject, account_id: str, key: Key, start: datetime, until: date) -> list[tuple[date, int]]:
    if not HAS_PENDING_ROWS:
        return []
    value = prepare(AccessEvent, f"{subject}_id", key)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT (hour AT TIME ZONE 'UTC')::date, count(*) FROM {pending_decisions(subject)}
            WHERE hour >= %s AND hour < %s GROUP BY 1""",  # noqa: S608 - made of constants
            [prepare(AccessEvent, "account_id", account_id), value, value, adapt(start), until],
        )
        return [(day, int(count)) for day, count in cursor.fetchall()]
