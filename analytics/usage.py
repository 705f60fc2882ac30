"""Usage figures: exact and current, for the rollups that they are read from are written with the events."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Min, Sum

from accounts.models import Account
from analytics.models import ContentYear, HourlyUsage
from analytics.usage_sql import Parts, Statement
from analytics.windows import Window
from config.api import ids

Row = tuple[str, str, int, int, str | None]  # what it is, a key, two counts, a name


def content_stats(account_id: str, content_id: str) -> dict[str, int]:
    """`stats` of an item: every decision that was answered for it."""
    years = ContentYear.objects.filter(account_id=account_id, content_id=content_id)
    sums = years.aggregate(requests=Sum("requests", default=0), allowed=Sum("allowed", default=0))
    return {
        "totalRequests": sums["requests"],
        "allowedRequests": sums["allowed"],
        "deniedRequests": sums["requests"] - sums["allowed"],
    }


def recorded_hours(accounts: Sequence[str]) -> tuple[datetime, datetime] | None:
    """The first and the last hour with decisions of these accounts."""
    hours = HourlyUsage.objects.filter(account_id__in=accounts).aggregate(first=Min("hour"), last=Max("hour"))
    return (hours["first"], hours["last"]) if hours["first"] else None


def first_event(accounts: Sequence[str]) -> datetime | None:
    """The hour of these accounts' first decision."""
    recorded = recorded_hours(accounts)
    return recorded[0] if recorded else None


def usage_report(accounts: Sequence[str], window: Window) -> dict[str, Any]:
    """The report of contract §12 on the decisions of these accounts (ids, at least one)."""
    rows = read(accounts, window, Parts.of(window, recorded_hours(accounts)))
    if any(row[0] == "surprise" for row in rows):
        # Midnight passed just now, or another server's clock is ahead.
        rows = read(accounts, window, Parts.of(window))
    return present(rows, window)


def read(accounts: Sequence[str], window: Window, parts: Parts) -> list[Row]:
    """The rows of usage_sql.Statement: all figures at one moment."""
    key = Account._meta.pk
    keys = [key.get_db_prep_value(account, connection) for account in accounts]
    statement = Statement(connection.vendor, keys, window, parts)
    sql = statement.build()
    parameters = [
        connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
        for value in statement.parameters
    ]
    with in_memory(), connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


@contextmanager
def in_memory() -> Iterator[None]:
    """Lets PostgreSQL group a row per item and requester without a detour over the disk or the compiler."""
    if connection.vendor != "postgresql":
        yield  # a transaction would keep others from writing
        return
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true)")
        yield


def present(rows: list[Row], window: Window) -> dict[str, Any]:
    """The report as the API shows it."""
    of: dict[str, list[Row]] = {}
    for row in rows:
        of.setdefault(row[0], []).append(row)
    buckets = {int(seconds): (requests, allowed) for _, seconds, requests, allowed, _ in of.get("bucket", ())}
    series = []
    for bucket in window.buckets():
        requests, allowed = buckets.get(int(bucket.timestamp()), (0, 0))
        series.append(
            {"date": window.label(bucket), "requests": requests, "allowed": allowed, "denied": requests - allowed}
        )
    total, allowed = (sum(counts) for counts in zip((0, 0), *buckets.values(), strict=True))
    return {
        "summary": {
            "totalRequests": total,
            "allowed": allowed,
            "denied": total - allowed,
            "uniqueRequesters": of["uniqueRequesters"][0][2],
            "uniqueContent": of["uniqueContent"][0][2],
        },
        "timeSeries": series,
        "topContent": [
            {"id": ids.encode("cnt", bytes.fromhex(key)), "title": title, "requests": requests}
            for _, key, requests, _, title in sorted(of.get("content", ()), key=by_count)
        ],
        "topRequesters": [
            {"id": key, "name": name, "requests": requests}
            for _, key, requests, _, name in sorted(of.get("requester", ()), key=by_count)
        ],
        "byDenialReason": [
            {"reason": reason, "count": count} for _, reason, count, _, _ in sorted(of.get("reason", ()), key=by_count)
        ],
    }


def by_count(row: Row) -> tuple[int, str]:
    """Sorts by count, descending, then by key."""
    return -row[2], row[1]
