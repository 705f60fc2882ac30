"""Usage figures: exact and current, from rollups and pending rows of one moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Max, Min

from analytics.models import HourlyUsage, RecentUsage
from analytics.rollups.definitions import adapt
from analytics.usage.report_sql import Parts, Statement
from analytics.usage.time_zone_buckets import Counts, add_up
from analytics.windows import Window
from kit.storage.reading import use_memory
from kit.storage.replica import reading_connection
from kit.values import ids


def rolled_up_hours(accounts: Sequence[str]) -> tuple[datetime, datetime] | None:
    """Return the first and last hour with decisions of these accounts in the rollups."""
    hours = HourlyUsage.objects.filter(account_id__in=accounts).aggregate(first=Min("hour"), last=Max("hour"))
    return (hours["first"], hours["last"]) if hours["first"] else None


def first_decision_hour(accounts: Sequence[str]) -> datetime | None:
    # In this order: rows rolled up between the two queries are found by the second.
    hours = [
        model._default_manager.filter(account_id__in=accounts).aggregate(first=Min("hour"))["first"]
        for model in (RecentUsage, HourlyUsage)
    ]
    return min((hour for hour in hours if hour), default=None)


class TopItem(NamedTuple):
    id: str
    title: str | None  # None if the item has been deleted
    requests: int


class TopRequester(NamedTuple):
    id: str
    number: int
    name: str | None
    requests: int


@dataclass
class UsageCounts:
    """The figures of a report."""

    buckets: dict[int, Counts] = field(default_factory=dict)  # by the seconds since 1970 at which they begin
    denials: dict[str, int] = field(default_factory=dict)  # by reason
    unique_requesters: int = 0
    unique_items: int = 0
    top_items: list[TopItem] = field(default_factory=list)
    top_requesters: list[TopRequester] = field(default_factory=list)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, int, int, str | None]]) -> "UsageCounts":
        """Build from the rows of analytics.usage.report_sql.Statement. Sorts by count descending, then by key."""
        figures = cls()
        for kind, key, count, number, name in sorted(rows, key=lambda row: (-row[2], row[1])):
            match kind:
                case "bucket":
                    figures.buckets[int(key)] = (count, number)
                case "reason":
                    figures.denials[key] = count
                case "uniqueRequesters":
                    figures.unique_requesters = count
                case "uniqueContent":
                    figures.unique_items = count
                case "content":
                    figures.top_items.append(TopItem(ids.encode("cnt", bytes.fromhex(key)), name, count))
                case "requester":
                    figures.top_requesters.append(TopRequester(key, number, name, count))
        return figures

    def regroup_in_zone(self, accounts: Sequence[str], window: Window) -> None:
        """Replace the figures of hours by those of the window's buckets."""
        hours = {datetime.fromtimestamp(seconds, UTC): counts for seconds, counts in self.buckets.items()}
        buckets = add_up(accounts, window, hours)
        self.buckets = {int(bucket.timestamp()): counts for bucket, counts in buckets.items()}


def usage_report(accounts: Sequence[str], window: Window) -> dict[str, Any]:
    """Build the report of docs/reference/reports.md on these accounts (ids, at least one)."""
    return render_report(count_usage(accounts, window), window)


def count_usage(accounts: Sequence[str], window: Window) -> UsageCounts:
    """Return the report's figures, all from one snapshot."""
    with use_memory():
        figures = run_statement(accounts, window, Parts.for_window(window, rolled_up_hours(accounts)))
        if window.zone is not UTC:
            figures.regroup_in_zone(accounts, window)
        return figures


def run_statement(accounts: Sequence[str], window: Window, parts: Parts) -> UsageCounts:
    statement = Statement(accounts, window, parts)
    sql = statement.build()
    parameters = [adapt(value) for value in statement.parameters]
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, parameters)
        return UsageCounts.from_rows(cursor.fetchall())


def render_report(figures: UsageCounts, window: Window) -> dict[str, Any]:
    """Return the report in the API's form."""
    series = []
    for bucket in window.buckets():
        requests, allowed = figures.buckets.get(int(bucket.timestamp()), (0, 0))
        series.append(
            {"date": window.label(bucket), "requests": requests, "allowed": allowed, "denied": requests - allowed}
        )
    total = sum(requests for requests, _ in figures.buckets.values())
    allowed = sum(allowed for _, allowed in figures.buckets.values())
    return {
        "summary": {
            "totalRequests": total,
            "allowed": allowed,
            "denied": total - allowed,
            "uniqueRequesters": figures.unique_requesters,
            "uniqueContent": figures.unique_items,
        },
        "timeSeries": series,
        "topContent": [{"id": item.id, "title": item.title, "requests": item.requests} for item in figures.top_items],
        "topRequesters": [
            {"id": requester.id, "name": requester.name, "requests": requester.requests}
            for requester in figures.top_requesters
        ],
        "byDenialReason": [{"reason": reason, "count": count} for reason, count in figures.denials.items()],
    }
