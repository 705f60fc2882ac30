"""The cost of rollups to the recorder: its statement and the roll-up, against the statement without rollups."""

import re
import time
from datetime import UTC, datetime
from itertools import cycle
from statistics import median
from typing import Any

import psycopg

from analytics.recording.batch import Batch
from analytics.recording.entries import Case, Entry
from analytics.rollups.roll_up import roll_up
from kit.values import ids
from kit.values.timestamps import render_timestamp

# Sizes of batches, and decisions of a run: what a recorder at that speed leaves for a roll-up
# (analytics.rollups.roll_up.INTERVAL).
SIZES = {32: 150_000, 100: 250_000}


class Rates:
    """Decisions per second of each run, by batch size and side."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, list[float]]] = {}

    def table(self) -> str:
        lines = ["| batch | with rollups | without | share |", "| ---: | ---: | ---: | ---: |"]
        for size, sides in self.runs.items():
            mine, bare = (median(sides[name]) for name in ("with rollups", "without"))
            lines.append(f"| {size} | {mine:,.0f} | {bare:,.0f} | {mine / bare:.0%} |")
        return "\n".join(lines)


def without_rollups(statement: str) -> str:
    bare, count = re.subn(r"\), pending_usage AS \(.*\)\nSELECT \(SELECT", ")\nSELECT (SELECT", statement, flags=re.S)
    assert count == 1, "The recorder's statement is not made as this expects."
    return bare


def recording_rates(database: str, account: str, rounds: int) -> Rates:
    """Measure recording with and without rollups alternately; one commit per batch."""
    rates = Rates()
    with psycopg.connect(database, autocommit=True) as connection:
        epoch: Any = connection.execute("SELECT epoch FROM accounts_account WHERE id = %s", [account]).fetchone()
        drawn = connection.execute(
            "SELECT replace(content_id::text, '-', ''), requester_id FROM analytics_accessevent TABLESAMPLE SYSTEM (1)"
            " ORDER BY random() LIMIT 50000"
        ).fetchall()
        source = cycle(drawn)

        def batch(size: int) -> tuple[str, list[Any]]:
            now = render_timestamp(datetime.now(UTC)) or ""
            entries = []
            for _ in range(size):
                content, requester = next(source)
                case = Case(
                    account=account,
                    epoch=epoch[0],
                    requester=requester,
                    allowed=True,
                    rule_index=0,
                    facts={"contentType": "article"},
                    created=now,
                )
                entries.append(Entry(case, [ids.id_to_hex("dec", ids.new_id("dec"))], [content]))
            return Batch(entries).statement()

        for size, decisions in SIZES.items():
            sides: dict[str, list[float]] = {"with rollups": [], "without": []}
            for _ in range(rounds):
                for name, runs in sides.items():
                    batches = [batch(size) for _ in range(decisions // size)]
                    if name == "without":
                        batches = [(without_rollups(sql), parameters) for sql, parameters in batches]
                    began = time.perf_counter()
                    for statement in batches:
                        connection.execute(*statement, prepare=True)
                    roll_up()
                    runs.append(size * len(batches) / (time.perf_counter() - began))
            rates.runs[str(size)] = sides
    return rates
