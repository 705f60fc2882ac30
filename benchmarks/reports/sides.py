"""Three ways to the same figures: the reports, plain queries on the same database, and the same queries in DuckDB."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from django.db import connection

from analytics import windows
from analytics.models import ExchangeRate
from analytics.revenue.report import first_entry, revenue_report
from analytics.usage import report as usage
from analytics.windows import Window
from benchmarks.reports import postgresql
from benchmarks.reports.year import DOLLAR, dollars, published_rates
from kit.values import ids

Figures = dict[str, Any]
Side = Callable[[str], Figures]  # takes a period

EVENTS = {"content_id": "UUID", "requester_id": "INTEGER", "reason": "VARCHAR", "created": "TIMESTAMP"}
LEDGER = {
    "amount": "BIGINT",
    "currency": "VARCHAR",
    "occurred_at": "TIMESTAMP",
    "license_type": "VARCHAR",
    "content_id": "UUID",
    "requester_id": "INTEGER",
}
RATE = "CREATE {} TABLE rate (day date, currency varchar(3), dollars {}, PRIMARY KEY (currency, day))"
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


def plain_usage(store: Store, window: Window) -> Figures:
    words = {"events": store.events(window), "day": store.date.format("created")}
    found = {name: store.run(query.format(**words)) for name, query in USAGE.items()}
    return {
        "summary": found["summary"][0],
        "series": [(str(day), requests, allowed) for day, requests, allowed in found["series"]],
        "content": [count for _, count in found["content"]],
        "requesters": [count for _, count in found["requesters"]],
        "reasons": found["reasons"],
    }


def plain_revenue(store: Store, window: Window) -> Figures:
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


# --- The service's own reports, called as the endpoints do -----------------------------------------------------------


def usage_window(account: str, period: str, now: datetime) -> Window:
    return windows.USAGE.parse({"period": period}, now, lambda: usage.first_event([account]))


def revenue_window(account: str, period: str, now: datetime) -> Window:
    return windows.REVENUE.parse({"period": period}, now, lambda: first_entry([account]))


def usage_figures(account: str, window: Window) -> Figures:
    report = usage.usage_report([account], window)
    summary = ("totalRequests", "allowed", "uniqueRequesters", "uniqueContent")
    return {
        "summary": tuple(report["summary"][name] for name in summary),
        "series": [(one["date"], one["requests"], one["allowed"]) for one in report["timeSeries"] if one["requests"]],
        "content": [one["requests"] for one in report["topContent"]],
        "requesters": [one["requests"] for one in report["topRequesters"]],
        "reasons": [(one["reason"], one["count"]) for one in report["byDenialReason"]],
    }


def revenue_figures(account: str, window: Window, now: datetime) -> Figures:
    report = revenue_report([account], window, DOLLAR, now)
    return {
        "total": report.total,
        "before": report.before,
        "series": [(f"{day:%Y-%m-%d}", amount) for day, amount in report.series if amount],
        "tiers": sorted(report.by_license_type.items()),
        "requesters": [one.revenue for one in report.by_requester],
        "content": [one.revenue for one in report.by_content],
    }


# --- The sides -------------------------------------------------------------------------------------------------------


def add_rates(today: date) -> None:
    """Publish the invented rates, as import_exchange_rates would."""
    ExchangeRate.objects.bulk_create(
        ExchangeRate(day=day, currency=currency, rate=f"{rate:f}") for day, currency, rate in published_rates(today)
    )


def same_database(account: str, now: datetime) -> Store:
    """Return the service's own connection, with the rates in a temporary table."""
    with connection.cursor() as cursor:
        cursor.execute(RATE.format("TEMPORARY", postgresql.EXACT))
        cursor.executemany("INSERT INTO rate VALUES (%s, %s, %s)", list(dollars(now.date())))
        cursor.execute("ANALYZE rate")

    def run(query: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()

    return Store(run, postgresql.owned(account), postgresql.DATE)


def in_duckdb(directory: Path, now: datetime) -> Store:
    """Copy the columns that the queries need to DuckDB's own format."""
    duck = duckdb.connect(str(directory / "events.duckdb"))
    for table, columns, moment in (
        ("analytics_accessevent", EVENTS, "created"),
        ("analytics_ledgerentry", LEDGER, "occurred_at"),
    ):
        file = directory / f"{table}.csv"
        postgresql.dump(table, tuple(columns), moment, file)
        duck.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {type_}' for name, type_ in columns.items())})")
        duck.execute(f"COPY {table} FROM '{file}' (FORMAT csv, HEADER false)")
        file.unlink()
    duck.execute(RATE.format("", "DOUBLE"))
    duck.executemany("INSERT INTO rate VALUES (?, ?, ?)", [(*key, float(rate)) for *key, rate in dollars(now.date())])
    return Store(lambda query: duck.execute(query).fetchall(), "true", "{0}::date")


class Sides:
    """The sides of each report, by the names shown in the result; each also computes the period's window."""

    def __init__(self, account: str, directory: Path) -> None:
        self.account, self.now = account, datetime.now(UTC)
        self.same = same_database(ids.id_to_hex("acc", account), self.now)
        self.duckdb = in_duckdb(directory, self.now)

    def entries(self) -> int:
        """Return the number of ledger entries."""
        return self.same.run("SELECT count(*) FROM analytics_ledgerentry")[0][0]

    def usage(self) -> dict[str, Side]:
        def window(period: str) -> Any:
            return usage_window(self.account, period, self.now)

        return {
            "this report": lambda period: usage_figures(self.account, window(period)),
            "five queries on the events": lambda period: plain_usage(self.same, window(period)),
            "DuckDB": lambda period: plain_usage(self.duckdb, window(period)),
        }

    def revenue(self) -> dict[str, Side]:
        def window(period: str) -> Any:
            return revenue_window(self.account, period, self.now)

        return {
            "this report": lambda period: revenue_figures(self.account, window(period), self.now),
            "six queries on the ledger": lambda period: plain_revenue(self.same, window(period)),
            "DuckDB": lambda period: plain_revenue(self.duckdb, window(period)),
        }
