"""The usage report, beside the same figures by SQL on the raw events and by DuckDB on the same data.

python -m benchmarks.reports                    # 10 million events on PostgreSQL
python -m benchmarks.reports --events 1000000   # a quick trial
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import psycopg

from benchmarks import report_data
from benchmarks.harness import expect, workplace
from benchmarks.ours import Installation
from benchmarks.recording import recording_rates
from benchmarks.report import parser, publish
from config.api import ids

PERIODS = ("7d", "30d", "90d", "year", "all")

# Five plain queries, as one would write them first. {events} is the table with the account's events of the window.
PLAIN = {
    "summary": """SELECT count(*), count(*) FILTER (WHERE reason IS NULL), count(DISTINCT requester_id),
      count(DISTINCT content_id) FROM {events}""",
    "series": """SELECT {day} AS day, count(*), count(*) FILTER (WHERE reason IS NULL) FROM {events}
      GROUP BY 1 ORDER BY 1""",
    "content": "SELECT content_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "requesters": "SELECT requester_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "reasons": "SELECT reason, count(*) FROM {events} WHERE reason IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1",
}

Figures = dict[str, Any]


def comparable(report: dict[str, Any]) -> Figures:
    """What all sides have to agree on."""
    return {
        "summary": tuple(
            report["summary"][name] for name in ("totalRequests", "allowed", "uniqueRequesters", "uniqueContent")
        ),
        "series": [(one["date"], one["requests"], one["allowed"]) for one in report["timeSeries"] if one["requests"]],
        "content": [one["requests"] for one in report["topContent"]],
        "requesters": [one["requests"] for one in report["topRequesters"]],
        "reasons": [(one["reason"], one["count"]) for one in report["byDenialReason"]],
    }


def plain(run: Callable[[str], list[tuple[Any, ...]]], events: str, day: str) -> Figures:
    found = {name: run(query.format(events=events, day=day)) for name, query in PLAIN.items()}
    return {
        "summary": found["summary"][0],
        "series": [(f"{day:%Y-%m-%d}", requests, allowed) for day, requests, allowed in found["series"]],
        "content": [count for _, count in found["content"]],
        "requesters": [count for _, count in found["requesters"]],
        "reasons": found["reasons"],
    }


class Sides:
    """The three ways to the same figures, on one set of data."""

    def __init__(self, made: Installation, account: str, directory: Path) -> None:
        os.environ.update(made.environment)
        import django  # noqa: PLC0415 - after the settings are known

        django.setup()
        from analytics import usage, windows  # noqa: PLC0415

        self.usage, self.windows = usage, windows
        self.account, self.key = made.account, account
        self.now = datetime.now(UTC)
        self.postgres = psycopg.connect(made.database, autocommit=True)
        self.postgres.execute("SET TIME ZONE 'UTC'")
        self.duck = duckdb.connect(str(directory / "events.duckdb"))
        self.load(directory)

    def load(self, directory: Path) -> None:
        file = directory / "events.csv"
        columns = "content_id, requester_id, reason, created AT TIME ZONE 'UTC' AS created"
        with (
            file.open("wb") as out,
            self.postgres.cursor().copy(
                f"COPY (SELECT {columns} FROM analytics_accessevent ORDER BY created) TO STDOUT (FORMAT csv, HEADER)"  # noqa: S608
            ) as copy,
        ):
            for part in copy:
                out.write(part)
        self.duck.execute(
            "CREATE TABLE events (content_id UUID, requester_id INTEGER, reason VARCHAR, created TIMESTAMP)"
        )
        self.duck.execute(f"COPY events FROM '{file}' (FORMAT csv, HEADER)")
        file.unlink()

    def window(self, period: str) -> Any:
        return self.windows.USAGE.parse({"period": period}, self.now, lambda: self.usage.first_event([self.account]))

    def ours(self, period: str) -> Figures:
        return comparable(self.usage.usage_report([self.account], self.window(period)))

    def raw(self, period: str) -> Figures:
        window = self.window(period)
        events = (
            f"(SELECT * FROM analytics_accessevent WHERE account_id = '{self.key}' AND "  # noqa: S608
            f"created >= '{window.start}' AND created < '{window.end}') events"
        )
        return plain(
            lambda query: self.postgres.execute(query).fetchall(), events, "date_trunc('day', created, 'UTC')"
        )

    def duckdb(self, period: str) -> Figures:
        window = self.window(period)
        start, end = (moment.replace(tzinfo=None) for moment in (window.start, window.end))
        events = f"(SELECT * FROM events WHERE created >= '{start}' AND created < '{end}') events"  # noqa: S608
        return plain(lambda query: self.duck.execute(query).fetchall(), events, "date_trunc('day', created)")


def measure(sides: Sides, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of each run, by period and side. Each side's figures have to be the same first."""
    ways = {"this report": sides.ours, "five queries on the events": sides.raw, "DuckDB": sides.duckdb}
    results: dict[str, dict[str, list[float]]] = {}
    for period in PERIODS:
        figures = [way(period) for way in ways.values()]
        expect(all(one == figures[0] for one in figures), f"The sides disagree about {period}.")
        results[period] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                began = time.perf_counter()
                way(period)
                results[period][name].append(time.perf_counter() - began)
        print(f"{period} is measured", file=sys.stderr, flush=True)
    return results


def table(results: dict[str, dict[str, list[float]]]) -> str:
    names = list(next(iter(results.values())))
    head = ["window, by day", *(f"{name}, ms" for name in names), "times faster than the queries", "than DuckDB"]
    lines = [f"| {' | '.join(head)} |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 2))
    for period, runs in results.items():
        mine, *others = (median(runs[name]) for name in names)
        shown = [f"{value * 1000:,.0f}" for value in (mine, *others)]
        lines.append(
            f"| `{period}` | {' | '.join(shown)} | {' | '.join(f'{other / mine:,.1f}' for other in others)} |"
        )
    return "\n".join(lines)


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.add_argument("--events", type=int, default=10_000_000)
    options = arguments.parse_args()
    options.seconds = None
    if not os.environ.get("TMPDIR"):
        os.environ["TMPDIR"] = tempfile.gettempdir()
    with workplace() as (stack, directory, services):
        assert services
        made = Installation("reports", directory, services)
        stack.callback(made.stop)
        made.start()
        made.server.stop()
        account = ids.decode("acc", made.account)
        assert account
        key = account.hex()
        made.manage("shell", "--verbosity", "0", "-c", MAKE_PARTITIONS)
        report_data.fill(made.database, key, options.events)
        began = time.perf_counter()
        made.manage("rebuild_usage", seconds=3600)
        rebuilt = time.perf_counter() - began
        with psycopg.connect(made.database, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")
        events, rollups = report_data.sizes(made.database)
        results = measure(Sides(made, key, directory), options.rounds)
        rates = recording_rates(made.database, key, options.rounds)
    text = (
        f"{options.events:,} events over {report_data.DAYS} days, {report_data.ITEMS:,} items, "
        f"{report_data.REQUESTERS:,} requesters:\n\n{table(results)}\n\n"
        f"The events take {events / 2**20:,.0f} MiB with their indexes, the rollups {rollups / 2**20:,.0f} MiB: "
        f"{rollups / events:.1%}. `rebuild_usage` made them from nothing in {rebuilt:.0f} s.\n\n"
        f"Recording, decisions/s of one connection:\n\n{rates.table()}"
    )
    publish("reports", text, {"reports": results, "recording": rates.runs}, options)


MAKE_PARTITIONS = f"""
from datetime import timedelta
from django.utils import timezone
from analytics.partitions import ensure_partitions
ensure_partitions(timezone.now() - timedelta(days={report_data.DAYS}), months_ahead=13)
"""

if __name__ == "__main__":
    main()
