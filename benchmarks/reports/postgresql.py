"""A year of data on PostgreSQL, created by SQL."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db import connection

from analytics.events.partitions import ensure_partitions
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

CHUNK = 500_000
DATE = "({0} AT TIME ZONE 'UTC')::date"  # the UTC day of a moment
EXACT = "numeric"


def owned(account: str) -> str:
    """Return the SQL condition that a row belongs to the account (given its id in hex)."""
    return f"account_id = '{account}'"


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def fill(account: str, events: int) -> None:
    """Create the account's items, requesters, events and ledger, spread evenly over the year up to now."""
    now = datetime.now(UTC)
    ensure_partitions(now - timedelta(days=DAYS), months_ahead=13)
    begin = int((now - timedelta(days=DAYS)).timestamp() * 1000)
    run("SELECT setseed(0.5)")
    run(f"""INSERT INTO licensing_content
      (id, account_id, title, type, metadata_extra, tags, status, created, updated)
      SELECT {uuid7("content")}, '{account}', 'An item of middling length, number ' || n, 'article', '{{}}', '[]',
        'active', now(), now() FROM (SELECT n, {begin} + n AS ms FROM generate_series(1, {ITEMS}) n) seed""")  # noqa: S608
    run(f"""INSERT INTO licensing_requester (account_id, requester_id, name, created)
      SELECT '{account}', 'requester' || lpad(n::text, 5, '0'), 'Requester ' || n, now()
      FROM generate_series(1, {REQUESTERS}) n""")  # noqa: S608
    prices = ", ".join(str((remainder, *price)) for remainder, price in PRICES.items())
    for first in range(0, events, CHUNK):
        last = min(first + CHUNK, events)
        run(f"""WITH stored AS (
          INSERT INTO analytics_accessevent ({EVENT_COLUMNS})
          SELECT {uuid7("event")}, '{account}',
            {drawn("licensing_content", "r1", ITEMS)}, {drawn("licensing_requester", "r2", REQUESTERS)},
            '{POLICY}', 1, reason IS NULL, reason, 0, '{PERMISSION}', '{FACTS}', NULL, NULL,
            to_timestamp(ms / 1000.0)
          FROM (SELECT *, {reason_of("r3")} AS reason FROM (
            SELECT n, {begin} + n::bigint * {DAYS * 86_400_000} / {events} AS ms,
              random() AS r1, random() AS r2, random() AS r3
            FROM generate_series({first + 1}, {last}) n) draws) seed
          RETURNING id, account_id, content_id, requester_id, allowed, created)
          INSERT INTO analytics_ledgerentry ({LEDGER_COLUMNS})
          SELECT id, account_id, 'usage', amount, currency, created, '{LICENSE}'::uuid, tier, id, content_id,
            requester_id, created
          FROM stored JOIN (VALUES {prices}) AS price (remainder, tier, currency, amount)
          ON remainder = requester_id % {PAYERS} WHERE allowed""")  # noqa: S608
        print(f"{last:,} of {events:,} events", file=sys.stderr, flush=True)
    run("VACUUM ANALYZE")


def uuid7(salt: str) -> str:
    digits = f"md5('{salt}' || n)"
    return f"(lpad(to_hex(ms), 12, '0') || '7' || substr({digits}, 1, 3) || '8' || substr({digits}, 4, 15))::uuid"


def reason_of(draw: str) -> str:
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


def sizes() -> dict[str, int]:
    """Return the bytes of each table with its indexes and partitions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT substring(relname from '^analytics_[a-z]+'), sum(pg_total_relation_size(oid))::bigint"
            " FROM pg_class WHERE relkind = 'r' AND relname LIKE 'analytics%' GROUP BY 1"
        )
        return dict(cursor.fetchall())


def dump(table: str, columns: tuple[str, ...], moment: str, file: Path) -> None:
    """Write the columns as CSV, sorted by the column `moment`."""
    named = ", ".join(f"{moment} AT TIME ZONE 'UTC'" if column == moment else column for column in columns)
    select = f"SELECT {named} FROM {table} ORDER BY {moment}"  # noqa: S608
    with (
        file.open("wb") as out,
        connection.cursor() as cursor,
        cursor.copy(f"COPY ({select}) TO STDOUT (FORMAT csv)") as copy,
    ):
        for part in copy:
            out.write(part)
