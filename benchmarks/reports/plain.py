"""The figures of both reports by straightforward SQL queries, on any of the databases."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from analytics.windows import Window

Figures = dict[str, Any]

USAGE = {
    "summary": """SELECT count(*), count(*) FILTER (WHERE reason IS NULL), count(DISTINCT requester_id),
      count(DISTINCT content_id) FROM {events}""",
    "series": "SELECT {day}, count(*), count(*) FILTER (WHERE reason IS NULL) FROM {events} GROUP BY 1 ORDER BY 1",
    "content": "SELECT content_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "requesters": "SELECT requester_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "reasons": "SELECT reason, count(*) FROM {events} WHERE reason IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1",
}
REVENUE = {
    "total": "SELECT sum(worth) FROM {entries}",
    "before": "SELECT sum(worth) FROM {former}",
    "series": "SELECT day, sum(worth) FROM {entries} GROUP BY 1 ORDER BY 1",
    "tiers": "SELECT license_type, sum(worth) FROM {entries} GROUP BY 1 ORDER BY 1",
    "requesters": "SELECT requester_id, sum(worth) FROM {entries} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "content": "SELECT content_id, sum(worth) FROM {entries} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
}


@dataclass(frozen=True)
class Store:
    """A database with the events, the ledger, and `rate`: each currency's value in dollars by day."""

    run: Callable[[str], list[tuple[Any, ...]]]
    owned: str  # the condition that a row is the account's
    date: str  # the UTC day of the moment {0}

    def events(self, window: Window) -> str:
        """Return a subquery for the window's events."""
        return f"(SELECT * FROM analytics_accessevent WHERE {self.within('created', window.start, window.end)}) event"  # noqa: S608

    def entries(self, start: datetime, end: datetime) -> str:
        """Return a subquery for the period's ledger entries, each with its value in millionths of a dollar."""
        day = self.date.format("occurred_at")
        return f"""(SELECT entry.*, rate.day, amount * dollars AS worth FROM analytics_ledgerentry entry
          JOIN rate ON rate.day = {day} AND rate.currency = entry.currency
          WHERE {self.within("occurred_at", start, end)}) entry"""  # noqa: S608

    def within(self, column: str, start: datetime, end: datetime) -> str:
        return f"{self.owned} AND {column} >= '{start:%Y-%m-%d %H:%M:%S}' AND {column} < '{end:%Y-%m-%d %H:%M:%S}'"


def usage(store: Store, window: Window) -> Figures:
    words = {"events": store.events(window), "day": store.date.format("created")}
    found = {name: store.run(query.format(**words)) for name, query in USAGE.items()}
    return {
        "summary": found["summary"][0],
        "series": [(str(day), requests, allowed) for day, requests, allowed in found["series"]],
        "content": [count for _, count in found["content"]],
        "requesters": [count for _, count in found["requesters"]],
        "reasons": found["reasons"],
    }


def revenue(store: Store, window: Window) -> Figures:
    words = {
        "entries": store.entries(window.start, window.end),
        "former": store.entries(window.start - (window.end - window.start), window.start),
    }
    found = {name: store.run(query.format(**words)) for name, query in REVENUE.items()}
    return {
        "total": in_dollars(found["total"][0][0]),
        "before": in_dollars(found["before"][0][0]),
        "series": [(str(day), in_dollars(sum_)) for day, sum_ in found["series"]],
        "tiers": [(tier, in_dollars(sum_)) for tier, sum_ in found["tiers"]],
        "requesters": [in_dollars(sum_) for _, sum_ in found["requesters"]],
        "content": [in_dollars(sum_) for _, sum_ in found["content"]],
    }


def in_dollars(millionths: Any) -> Decimal:
    return Decimal(millionths or 0).scaleb(-6)
