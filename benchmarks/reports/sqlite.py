"""A year of data on SQLite, created by Python from a fixed seed."""

import csv
import math
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from analytics.recording.recorder_sqlite import insert
from analytics.recording.statement import EVENT_COLUMNS, LEDGER_COLUMNS
from benchmarks.reports.year import (
    BELOW,
    DAYS,
    FACTS,
    ITEMS,
    LICENSE,
    PAYERS,
    PERMISSION,
    POLICY,
    PRICES,
    REASONS,
    REQUESTERS,
)

NAME = "SQLite"
EVENTS = 1_000_000
CHUNK = 100_000
DATE = "substr({0}, 1, 10)"  # the UTC day of a moment
EXACT = "real"  # SQLite has no exact decimals


def owned(account: str) -> str:
    """Return the SQL condition that a row belongs to the account (given its id in hex)."""
    return f"account_id = X'{account}'"


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def fill(account: str, events: int) -> None:
    """Create the account's items, requesters, events and ledger, spread evenly over the year up to now."""
    draws = random.Random(1)
    key, begin = bytes.fromhex(account), int((datetime.now(UTC) - timedelta(days=DAYS)).timestamp() * 1000)
    run("PRAGMA synchronous = OFF")
    contents, requesters = population(key, begin, draws)
    content, requester = popularity(contents, draws), popularity(requesters, draws)
    reasons: list[str | None] = [*REASONS, None]
    policy, license_ = UUID(POLICY).bytes, UUID(LICENSE).bytes
    for first in range(0, events, CHUNK):
        last = min(first + CHUNK, events)
        rows, entries = [], []
        for number in range(first + 1, last + 1):
            moment = begin + number * DAYS * 86_400_000 // events
            id_, item, who = uuid7(moment, draws), content(), requester()
            reason, created = reasons[bisect_right(BELOW, draws.random())], stored(moment)
            outcome = (policy, 1, reason is None, reason, 0, PERMISSION, FACTS, None, None)
            rows.append((id_, key, item, who, *outcome, created))
            if reason is None and (price := PRICES.get(who % PAYERS)):
                charge = ("usage", price.millionths, price.currency, created, license_, price.tier)
                entries.append((id_, key, *charge, id_, item, who, created))
        with transaction.atomic(), connection.cursor() as cursor:
            insert(cursor, "accessevent", EVENT_COLUMNS, rows)
            insert(cursor, "ledgerentry", LEDGER_COLUMNS, entries)
        print(f"{last:,} of {events:,} events", file=sys.stderr, flush=True)
    run("PRAGMA synchronous = FULL")


def population(key: bytes, begin: int, draws: random.Random) -> tuple[list[bytes], list[int]]:
    """Create the items and the requesters; return their keys."""
    contents = [uuid7(begin + number, draws) for number in range(ITEMS)]
    requesters = list(range(1, REQUESTERS + 1))
    made = stored(begin)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO licensing_content"
            " (id, account_id, title, type, metadata_extra, tags, status, created, updated)"
            " VALUES (%s, %s, %s, 'article', '{}', '[]', 'active', %s, %s)",
            [
                (id_, key, f"An item of middling length, number {number}", made, made)
                for number, id_ in enumerate(contents)
            ],
        )
        cursor.executemany(
            "INSERT INTO licensing_requester (id, account_id, requester_id, name, created)"
            " VALUES (%s, %s, %s, %s, %s)",
            [(number, key, f"requester{number:05}", f"Requester {number}", made) for number in requesters],
        )
    return contents, requesters


def popularity(keys: Sequence[Any], draws: random.Random) -> Callable[[], Any]:
    """Draw one of the keys, Zipf-like, as benchmarks.reports.postgresql.drawn does."""
    ranked, width = draws.sample(keys, len(keys)), math.log(len(keys) + 1)
    return lambda: ranked[int(math.exp(draws.random() * width)) - 1]


def stored(moment: int) -> str:
    """Return the time of Unix milliseconds as Django stores it."""
    return connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=moment))


def uuid7(moment: int, draws: random.Random) -> bytes:
    return (moment << 80 | 7 << 76 | draws.getrandbits(12) << 64 | 2 << 62 | draws.getrandbits(62)).to_bytes(16)


def settle() -> None:
    """Checkpoint the write-ahead log."""
    run("PRAGMA wal_checkpoint(TRUNCATE)")


def sizes() -> dict[str, int]:
    """Return the bytes of each table with its indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name) WHERE aggregate = 1 GROUP BY 1"
        )
        return dict(cursor.fetchall())


def dump(table: str, columns: tuple[str, ...], moment: str, file: Path) -> None:
    """Write the columns as CSV, sorted by the column `moment`."""
    named = ", ".join(f"hex({column})" if column == "content_id" else column for column in columns)
    with file.open("w", newline="") as out, connection.cursor() as cursor:
        cursor.execute(f"SELECT {named} FROM {table} ORDER BY {moment}")  # noqa: S608
        csv.writer(out).writerows(cursor)
