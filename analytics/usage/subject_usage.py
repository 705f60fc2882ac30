"""The decisions about one item or requester: in total, allowed and denied by day, and the reasons.

Days are those of the window's zone; of UTC, as in the rollups, if not all of its decisions can be grouped.

The rollups of an item or requester have no outcomes (analytics.models.usage). So the newest decisions, found by index,
are grouped by outcome; for earlier days only the number of requests is known.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple

from django.db import connection
from msgspec import Struct

from analytics.archive.horizon import read_at_horizon
from analytics.archive.lookup import last_archived_at
from analytics.events.partitions import first_decision_id, month_after
from analytics.events.retention import recorded_since
from analytics.models import AccessEvent, ContentMonth, RequesterMonth, RequesterYear
from analytics.models.usage import DAYS, MONTHS
from analytics.rollups.definitions import adapt, month_number
from analytics.rollups.roll_up import HAS_PENDING_ROWS, USAGE_LISTS
from analytics.usage.report_sql import dialect
from analytics.windows import DAY, MICROSECOND, Window, end_of_day
from kit.http.errors import ServiceUnavailable
from kit.storage.loading import Parameter, prepare, prepared_cursor

Subject = Literal["content", "requester"]
ARRAY_TYPES = {"content": "uuid[]", "requester": "bigint[]"}  # of the lists in pending rows


def pending_decisions(subject: Subject) -> str:
    """Return a subquery with `hour` and `outcome` of each decision. Its parameters: the account, and the key twice.

    Skips lists without the key before expanding any.
    """
    return f"""(SELECT hour, outcome FROM (
      SELECT * FROM analytics_recentusage
      WHERE account_id = %s AND {subject}s @> ARRAY[%s]::{ARRAY_TYPES[subject]} OFFSET 0) pending, {USAGE_LISTS}
    WHERE {subject}_id = %s) decision"""  # noqa: S608 - made of constants


Key = str | int  # an item's id or a requester's number

MAX_GROUPED = 20_000  # newest decisions to group by outcome
# A decision's time and its id's time, which determines the partition, differ by less.
ID_TIME_SLACK = DAY
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUARTER = timedelta(minutes=15)  # the offsets of all zones are multiples of it
MONTHLY_MODELS = {"content": ContentMonth, "requester": RequesterMonth}


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
        prepare(AccessEvent, "id", first_decision_id(window.start - ID_TIME_SLACK)),
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
    rows = MONTHLY_MODELS[subject]._default_manager.filter(
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


def content_stats(account_id: str, content_id: str) -> dict[str, int]:
    """Return an item's `stats`: all decisions about it."""
    statement, parameters = build_counts("content", account_id, content_id)
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        return build_stats(*cursor.fetchone())


def build_counts(subject: Subject, account_id: str, id: str | int) -> tuple[str, list[Parameter]]:
    """Return a statement and its parameters; its one row has the numbers of decisions and of allowed ones.

    `id` is an item's id or a requester's number.
    """
    owner = prepare(AccessEvent, "account_id", account_id)
    key = prepare(AccessEvent, f"{subject}_id", id)
    select = (
        f"SELECT m12 AS requests, allowed FROM analytics_{subject}year WHERE account_id = %s AND {subject}_id = %s"  # noqa: S608
    )
    parameters = [owner, key]
    if HAS_PENDING_ROWS:
        select += f" UNION ALL SELECT 1, CASE outcome WHEN '' THEN 1 ELSE 0 END FROM {pending_decisions(subject)}"  # noqa: S608
        parameters += [owner, key, key]
    statement = f"SELECT sum(requests) AS requests, sum(allowed) AS allowed FROM ({select}) parts"  # noqa: S608
    return statement, parameters


def build_stats(requests: int | None, allowed: int | None) -> dict[str, int]:
    """Return `stats` from the row of `build_counts`."""
    total = int(requests or 0)
    allowed_total = int(allowed or 0)
    return {"totalRequests": total, "allowedRequests": allowed_total, "deniedRequests": total - allowed_total}


class RequesterStats(NamedTuple):
    """All decisions about a requester, and the time of the last."""

    allowed: int
    denied: int
    last_seen_at: datetime | None


def requester_stats(account_id: str, requester: int) -> RequesterStats:
    """Return the statistics of a requester, by number."""
    statement, parameters = build_counts("requester", account_id, requester)
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        requests, allowed = (int(total or 0) for total in cursor.fetchone())
    last_seen = last_decision_at(account_id, requester) if requests else None
    return RequesterStats(allowed, requests - allowed, last_seen)


def last_decision_at(account_id: str, requester: int) -> datetime | None:
    """Return the time of the last decision about a requester (by number).

    None if there is none, if it was purged, or if only the archive has it and cannot be read: a requester can be
    changed nevertheless.
    """
    decisions = AccessEvent.objects.filter(account_id=account_id, requester_id=requester)

    def read(horizon: datetime | None) -> datetime | None:
        last = decisions.order_by("-created").values_list("created", flat=True).first()
        if last is not None or horizon is None:
            return last
        months = months_with_decisions(account_id, [requester])
        month = next((month for month in months if month < horizon), None)
        if month is None:
            return None
        with suppress(ServiceUnavailable):  # which is logged
            return last_archived_at(account_id, requester, month, month_after(month))
        return None

    return read_at_horizon(read)


def months_with_decisions(account_id: str, requesters: Sequence[int]) -> Iterator[datetime]:
    """Yield the months in which the rollups have decisions about one of the requesters, those of later years first."""
    years = RequesterYear.objects.filter(account_id=account_id, requester_id__in=requesters)
    for year in years.order_by("-year"):
        totals = [0, *(getattr(year, month) for month in MONTHS)]
        for month in range(12, 0, -1):
            if totals[month] > totals[month - 1]:
                yield datetime(year.year, month, 1, tzinfo=UTC)
