"""Usage figures: exact and current, from rollups and pending rows of one moment."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from django.db.models import Max, Min

from analytics.archive.horizon import read_at_horizon
from analytics.archive.lookup import last_archived_at
from analytics.events.partitions import month_after
from analytics.models import AccessEvent, HourlyUsage, RecentUsage, RequesterYear
from analytics.models.usage import MONTHS
from analytics.rollups.roll_up import HAS_PENDING_ROWS, USAGE_LISTS
from analytics.rollups.upserts import adapt
from analytics.usage.in_zone import add_up
from analytics.usage.report_sql import Parts, Statement
from analytics.windows import Window
from kit.http.errors import ServiceUnavailable
from kit.storage.prepared import Parameter, prepare, prepared_cursor
from kit.storage.reading import use_memory
from kit.storage.replica import reading_connection
from kit.values import ids

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


ReportRow = tuple[str, str, int, int, str | None]  # kind, key, two counts (or a count and a number), name


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
        month = last_month(account_id, requester, horizon)
        if month is None:
            return None
        with suppress(ServiceUnavailable):  # which is logged
            return last_archived_at(account_id, requester, month, month_after(month))
        return None

    return read_at_horizon(read)


def last_month(account_id: str, requester: int, end: datetime) -> datetime | None:
    """Return the last month before `end` in which the rollups have decisions about a requester."""
    years = RequesterYear.objects.filter(account_id=account_id, requester_id=requester, year__lte=end.year)
    for year in years.order_by("-year"):
        totals = [0, *(getattr(year, month) for month in MONTHS)]
        for month in range(12, 0, -1):
            begin = datetime(year.year, month, 1, tzinfo=UTC)
            if begin < end and totals[month] > totals[month - 1]:
                return begin
    return None


def rolled_up_hours(accounts: Sequence[str]) -> tuple[datetime, datetime] | None:
    """Return the first and last hour with decisions of these accounts in the rollups."""
    hours = HourlyUsage.objects.filter(account_id__in=accounts).aggregate(first=Min("hour"), last=Max("hour"))
    return (hours["first"], hours["last"]) if hours["first"] else None


def first_decision_hour(accounts: Sequence[str]) -> datetime | None:
    """Return the hour of the accounts' first decision."""
    # In this order: rows rolled up between the two queries are found by the second.
    hours = [
        model._default_manager.filter(account_id__in=accounts).aggregate(first=Min("hour"))["first"]
        for model in (RecentUsage, HourlyUsage)
    ]
    return min((hour for hour in hours if hour), default=None)


def usage_report(accounts: Sequence[str], window: Window, rows: list[ReportRow] | None = None) -> dict[str, Any]:
    """Build the report of docs/reference/reports.md on these accounts (ids, at least one).

    `rows` is the result of `usage_rows`, if known.
    """
    return render_report(usage_rows(accounts, window) if rows is None else rows, window)


def usage_rows(accounts: Sequence[str], window: Window) -> list[ReportRow]:
    """Return the report's figures, all from one snapshot."""
    with use_memory():
        rows = run_statement(accounts, window, Parts.for_window(window, rolled_up_hours(accounts)))
        return rows if window.zone is UTC else regroup_in_zone(accounts, window, rows)


def regroup_in_zone(accounts: Sequence[str], window: Window, rows: list[ReportRow]) -> list[ReportRow]:
    """Replace the figures of hours by those of the window's buckets."""
    hours = {
        datetime.fromtimestamp(int(row[1]), UTC): (int(row[2]), int(row[3])) for row in rows if row[0] == "bucket"
    }
    buckets: list[ReportRow] = [
        ("bucket", str(int(bucket.timestamp())), requests, allowed, None)
        for bucket, (requests, allowed) in add_up(accounts, window, hours).items()
    ]
    return [*buckets, *(row for row in rows if row[0] != "bucket")]


def requester_numbers(rows: list[ReportRow]) -> list[int]:
    """Return the numbers of the report's `topRequesters`, in order."""
    return [number for kind, _, _, number, _ in sorted(rows, key=count_order) if kind == "requester"]


def run_statement(accounts: Sequence[str], window: Window, parts: Parts) -> list[ReportRow]:
    """Run analytics.usage.report_sql.Statement and return its rows."""
    statement = Statement(accounts, window, parts)
    sql = statement.build()
    parameters = [adapt(value) for value in statement.parameters]
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def render_report(rows: list[ReportRow], window: Window) -> dict[str, object]:
    """Return the report in the API's form."""
    by_kind: dict[str, list[ReportRow]] = {}
    for row in rows:
        by_kind.setdefault(row[0], []).append(row)
    buckets = {int(seconds): (requests, allowed) for _, seconds, requests, allowed, _ in by_kind.get("bucket", ())}
    series = []
    for bucket in window.buckets():
        requests, allowed = buckets.get(int(bucket.timestamp()), (0, 0))
        series.append(
            {"date": window.label(bucket), "requests": requests, "allowed": allowed, "denied": requests - allowed}
        )
    total = sum(requests for requests, _ in buckets.values())
    allowed = sum(allowed for _, allowed in buckets.values())
    return {
        "summary": {
            "totalRequests": total,
            "allowed": allowed,
            "denied": total - allowed,
            "uniqueRequesters": by_kind["uniqueRequesters"][0][2],
            "uniqueContent": by_kind["uniqueContent"][0][2],
        },
        "timeSeries": series,
        "topContent": [
            {"id": ids.encode("cnt", bytes.fromhex(key)), "title": title, "requests": requests}
            for _, key, requests, _, title in sorted(by_kind.get("content", ()), key=count_order)
        ],
        "topRequesters": [
            {"id": key, "name": name, "requests": requests}
            for _, key, requests, _, name in sorted(by_kind.get("requester", ()), key=count_order)
        ],
        "byDenialReason": [
            {"reason": reason, "count": count}
            for _, reason, count, _, _ in sorted(by_kind.get("reason", ()), key=count_order)
        ],
    }


def count_order(row: ReportRow) -> tuple[int, str]:
    """Sort key: count descending, then key."""
    return -row[2], row[1]
