"""The sides that benchmarks.reports compares, and its year of decisions, created by SQL. Needs Django's settings."""

import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import accumulate, cycle
from typing import Any

import psycopg
from django.db import connection

from analytics import windows
from analytics.events.partitions import ensure_partitions
from analytics.recording.batch import Batch
from analytics.recording.entries import Case, Entry
from analytics.recording.statement import EVENT_COLUMNS
from analytics.rollups.roll_up import roll_up
from analytics.usage import report as usage
from analytics.windows import Window
from benchmarks.growth_data import uuid7
from kit.values import ids
from kit.values.timestamps import render_timestamp

DAYS = 365
ITEMS, REQUESTERS = 50_000, 20_000
CHUNK = 500_000
REASONS = {
    "no_license": 0.15,
    "rate_limit_exceeded": 0.05,
    "license_expired": 0.04,
    "policy_denied": 0.03,
    "content_archived": 0.01,
    "no_policy": 0.01,
    "permission_not_granted": 0.01,
}
BELOW = [round(share, 2) for share in accumulate(REASONS.values())]  # a draw from 0 to 1 below it has that reason
POLICY = "0199a000-0000-7000-8000-000000000001"
FACTS = '{"contentType":"article","licenseType":"commercial","hasValidLicense":true,"requesterName":"Acme"}'
ROLLUPS = ("hourlyusage", "contentyear", "contentmonth", "requesteryear", "requestermonth")
# Sizes of batches, and decisions of a run: what a recorder at that speed leaves for a roll-up
# (analytics.rollups.roll_up.INTERVAL).
SIZES = {32: 150_000, 100: 250_000}
QUERIES = {
    "summary": """SELECT count(*), count(*) FILTER (WHERE reason IS NULL), count(DISTINCT requester_id),
      count(DISTINCT content_id) FROM {events}""",
    "series": """SELECT (created AT TIME ZONE 'UTC')::date, count(*), count(*) FILTER (WHERE reason IS NULL)
      FROM {events} GROUP BY 1 ORDER BY 1""",
    "content": "SELECT content_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "requesters": "SELECT requester_id, count(*) FROM {events} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    "reasons": "SELECT reason, count(*) FROM {events} WHERE reason IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1",
}


def run(statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


# --- The data --------------------------------------------------------------------------------------------------------


def fill(account: str, events: int) -> None:
    """Create the account's items, requesters and events, spread evenly over the year up to now."""
    now = datetime.now(UTC)
    ensure_partitions(now - timedelta(days=DAYS), months_ahead=13)
    begin = int((now - timedelta(days=DAYS)).timestamp() * 1000)
    run("SELECT setseed(0.5)")
    run(f"""INSERT INTO licensing_content
      (id, account_id, title, type, metadata_extra, tags, status, created, updated)
      SELECT {uuid7("ms", "content")}, '{account}', 'An item of middling length, number ' || n, 'article', '{{}}',
        '[]', 'active', now(), now() FROM (SELECT n, {begin} + n AS ms FROM generate_series(1, {ITEMS}) n) seed""")  # noqa: S608
    run(f"""INSERT INTO licensing_requester (account_id, requester_id, name, created)
      SELECT '{account}', 'requester' || lpad(n::text, 5, '0'), 'Requester ' || n, now()
      FROM generate_series(1, {REQUESTERS}) n""")  # noqa: S608
    for first in range(0, events, CHUNK):
        last = min(first + CHUNK, events)
        run(f"""INSERT INTO analytics_accessevent ({EVENT_COLUMNS})
          SELECT {uuid7("ms", "event")}, '{account}',
            {drawn("licensing_content", "r1", ITEMS)}, {drawn("licensing_requester", "r2", REQUESTERS)},
            '{POLICY}', 1, reason IS NULL, reason, 0, 'commercial_use', '{FACTS}', NULL, NULL,
            to_timestamp(ms / 1000.0)
          FROM (SELECT *, {reason_at("r3")} AS reason FROM (
            SELECT n, {begin} + n::bigint * {DAYS * 86_400_000} / {events} AS ms,
              random() AS r1, random() AS r2, random() AS r3
            FROM generate_series({first + 1}, {last}) n) draws) seed""")  # noqa: S608
        print(f"{last:,} of {events:,} events", file=sys.stderr, flush=True)
    run("VACUUM ANALYZE")


def reason_at(draw: str) -> str:
    """Return SQL for the outcome of a random number from 0 to 1: seven in ten are allowed."""
    whens = [f"WHEN {draw} < {below} THEN '{reason}'" for below, reason in zip(BELOW, REASONS, strict=True)]
    return f"CASE {' '.join(whens)} END"


def drawn(table: str, draw: str, count: int) -> str:
    """Return SQL that maps a random number from 0 to 1 to an id, Zipf-like.

    The k-th most popular id occurs about in proportion to 1/k: this inverts the continuous distribution.
    """
    ranked = f"ARRAY(SELECT id FROM {table} ORDER BY md5(id::text))"  # noqa: S608
    return f"({ranked})[floor(exp({draw} * ln({count} + 1)))::int]"


def settle() -> None:
    """Vacuum and checkpoint now, so that no background work affects the measurement."""
    run("VACUUM ANALYZE")
    run("CHECKPOINT")


def sizes() -> tuple[int, int]:
    """Return the bytes of the events, and of the rollups, with their indexes and partitions."""
    tables = dict(
        run(
            "SELECT substring(relname from '^analytics_([a-z]+)'), sum(pg_total_relation_size(oid))::bigint"
            " FROM pg_class WHERE relkind = 'r' AND relname LIKE 'analytics%' GROUP BY 1"
        )
    )
    return tables["accessevent"], sum(tables[name] for name in ROLLUPS)


# --- The report ------------------------------------------------------------------------------------------------------


def usage_sides(account: str) -> dict[str, Callable[[str], dict[str, Any]]]:
    """Return the functions to compare, by their names in the result; each takes a period."""
    now = datetime.now(UTC)

    def window(period: str) -> Window:
        return windows.USAGE.parse({"period": period}, now, lambda: usage.first_decision_hour([account]))

    return {
        "this report": lambda period: figures_of_report(account, window(period)),
        "five queries on the events": lambda period: figures_of_queries(account, window(period)),
    }


def figures_of_report(account: str, window: Window) -> dict[str, Any]:
    report = usage.usage_report([account], window)
    summary = ("totalRequests", "allowed", "uniqueRequesters", "uniqueContent")
    return {
        "summary": tuple(report["summary"][name] for name in summary),
        "series": [(day["date"], day["requests"], day["allowed"]) for day in report["timeSeries"] if day["requests"]],
        "content": [item["requests"] for item in report["topContent"]],
        "requesters": [requester["requests"] for requester in report["topRequesters"]],
        "reasons": [(reason["reason"], reason["count"]) for reason in report["byDenialReason"]],
    }


def figures_of_queries(account: str, window: Window) -> dict[str, Any]:
    events = (
        f"(SELECT * FROM analytics_accessevent WHERE account_id = '{ids.id_to_hex('acc', account)}'"  # noqa: S608
        f" AND created >= '{window.start.isoformat()}' AND created < '{window.end.isoformat()}') event"
    )
    rows = {name: run(query.format(events=events)) for name, query in QUERIES.items()}
    return {
        "summary": rows["summary"][0],
        "series": [(str(day), requests, allowed) for day, requests, allowed in rows["series"]],
        "content": [count for _, count in rows["content"]],
        "requesters": [count for _, count in rows["requesters"]],
        "reasons": rows["reasons"],
    }


# --- Recording -------------------------------------------------------------------------------------------------------


def without_rollups(statement: str) -> str:
    bare, count = re.subn(r"\), pending_usage AS \(.*\)\s+SELECT \(SELECT", ")\nSELECT (SELECT", statement, flags=re.S)
    assert count == 1, "The recorder's statement is not made as this expects."
    return bare


def recording_rates(database: str, account: str, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Measure the decisions a second with and without rollups alternately, by size of batch; one commit per batch."""
    rates: dict[str, dict[str, list[float]]] = {}
    with psycopg.connect(database, autocommit=True) as recorder:
        epoch: Any = recorder.execute("SELECT epoch FROM accounts_account WHERE id = %s", [account]).fetchone()
        sample = recorder.execute(
            "SELECT replace(content_id::text, '-', ''), requester_id FROM analytics_accessevent TABLESAMPLE SYSTEM (1)"
            " ORDER BY random() LIMIT 50000"
        ).fetchall()
        source = cycle(sample)
        for size, decisions in SIZES.items():
            sides: dict[str, list[float]] = {"with rollups": [], "without": []}
            for _ in range(rounds):
                for name, runs in sides.items():
                    batches = [build_batch(account, epoch[0], source, size) for _ in range(decisions // size)]
                    if name == "without":
                        batches = [(without_rollups(sql), parameters) for sql, parameters in batches]
                    began = time.perf_counter()
                    for statement in batches:
                        recorder.execute(*statement, prepare=True)
                    roll_up()
                    runs.append(size * len(batches) / (time.perf_counter() - began))
            rates[str(size)] = sides
    return rates


def build_batch(account: str, epoch: int, source: "cycle[tuple[str, int]]", size: int) -> tuple[str, list[Any]]:
    now = render_timestamp(datetime.now(UTC)) or ""
    entries = []
    for _ in range(size):
        content, requester = next(source)
        case = Case(
            account=account,
            epoch=epoch,
            requester=requester,
            allowed=True,
            rule_index=0,
            facts={"contentType": "article"},
            created=now,
        )
        entries.append(Entry(case, [ids.id_to_hex("dec", ids.new_id("dec"))], [content]))
    return Batch(entries).statement()
