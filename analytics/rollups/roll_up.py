"""Moves pending rows (analytics.models.pending) into the rollups; PostgreSQL only.

Rows are deleted in the transaction that adds them: a reader of both in one statement counts them once, and an
interrupted roll-up has no effect, so its commit need not wait for the disk. Most of the work is scattered updates, so
the rollups' pages reserve room for new row versions (migration 0011).
"""

from collections.abc import Iterator
from datetime import date, timedelta

from django.db import connection, transaction

from analytics.rollups.definitions import DATES, REVENUE, USAGE, FirstParts, dates

LOCK = 7_202_611_042  # an arbitrary advisory lock number
BATCH_ROWS = 4_000  # rows per transaction
INTERVAL = timedelta(seconds=10)  # batches ask for the same items, so rolling up many at once is far cheaper

USAGE_LISTS = "unnest(contents, requesters, outcomes) AS one (content_id, requester_id, outcome)"
REVENUE_LISTS = """unnest(amounts, license_types, contents, requesters)
  AS one (amount, license_type, content_id, requester_id)"""
ROWS = "<rows>"  # placeholder for the source with one pending decision or charge per row (see in_order)
# Whether decisions wait in pending rows. On SQLite the record itself adds them to the rollups.
HAS_PENDING_ROWS = connection.vendor == "postgresql"
# What readers add to the rollups: one row per decision or charge.
PENDING_USAGE = f"analytics_recentusage, {USAGE_LISTS}"
PENDING_REVENUE = f"analytics_recentrevenue, {REVENUE_LISTS}"
# All decisions by account, hour and outcome, in rows that readers add up. The database applies conditions within.
HOURS = "SELECT account_id, hour, outcome, requests FROM analytics_hourlyusage"
if HAS_PENDING_ROWS:
    HOURS += f" UNION ALL SELECT account_id, hour, outcome, 1 FROM {PENDING_USAGE}"  # noqa: S608 - made of constants


def roll_up(age: timedelta = timedelta(0)) -> int:
    """Roll up all pending rows if the oldest is at least `age` old; return their number.

    Returns 0 while another process is rolling up.
    """
    if not HAS_PENDING_ROWS:
        return 0
    total = 0
    while rows := roll_up_batch(age):
        total += rows
    return total


def roll_up_batch(age: timedelta) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            return 0
        cursor.execute(IS_DUE, [age.total_seconds()])
        if cursor.fetchone() != (True,):
            return 0
        cursor.execute(SETTINGS)
        cursor.execute(USAGE_DAYS)
        days = [day for (day,) in cursor.fetchall()]
        rows = 0
        for day in days:
            cursor.execute(usage_statement(day), [day, day, BATCH_ROWS])
            rows += cursor.fetchone()[0]
        cursor.execute(revenue_statement(), [BATCH_ROWS])
        return rows + int(cursor.fetchone()[0])


IS_DUE = """
SELECT EXISTS (SELECT FROM (
  SELECT recorded FROM analytics_recentusage UNION ALL SELECT recorded FROM analytics_recentrevenue) waiting
  WHERE recorded <= statement_timestamp() - make_interval(secs => %s))"""
USAGE_DAYS = "SELECT DISTINCT (hour AT TIME ZONE 'UTC')::date FROM analytics_recentusage"  # days of UTC
OF_DAY = "WHERE hour >= %s::timestamp AT TIME ZONE 'UTC' AND hour < (%s::date + 1)::timestamp AT TIME ZONE 'UTC'"
SETTINGS = "SELECT set_config('synchronous_commit', 'off', true), set_config('jit', 'off', true)"


def usage_statement(day: date) -> str:
    """Return the statement for decisions of a UTC day, whose running totals begin at the same columns."""
    steps = [rollup.addition(ROWS, FirstParts.of([day])) for rollup in USAGE]
    columns = "contents, requesters, outcomes"
    return move_statement("analytics_recentusage", OF_DAY, columns, f"1 AS n, one.* FROM taken, {USAGE_LISTS}", steps)


def revenue_statement() -> str:
    steps = [rollup.addition(ROWS) for rollup in REVENUE]
    columns = "currency, amounts, license_types, contents, requesters"
    entries = f"currency, amount AS n, amount < 0 AS refund, one.* FROM taken, {REVENUE_LISTS}"
    return move_statement("analytics_recentrevenue", "", columns, entries, steps)


def move_statement(table: str, where: str, columns: str, rows: str, steps: list[str]) -> str:
    """Return a statement that deletes pending rows, runs the steps on what they list, and returns their number.

    Its parameters are those of `where` and the maximum number of pending rows. Each step reads from ROWS.
    """
    return f"""
WITH taken AS (
  DELETE FROM {table} WHERE id IN (SELECT id FROM {table} {where} ORDER BY id LIMIT %s)
  RETURNING account_id, {columns}, {dates("hour")}
), one AS MATERIALIZED (SELECT account_id, {", ".join(DATES)}, {rows}), {", ".join(chain_steps(steps))}
SELECT count(*) FROM taken"""  # noqa: S608 - made of constants


def chain_steps(steps: list[str]) -> Iterator[str]:
    """Yield the steps as parts of a WITH that lock their rows in order.

    PostgreSQL runs data-modifying parts of a WITH in any order, unless one reads another's result. So each step first
    counts the rows returned by the one before.
    """
    rows = "one"
    for number, step in enumerate(steps):
        yield f"step_{number} AS ({step.replace(ROWS, rows)} RETURNING 1)"
        rows = f"(SELECT * FROM one WHERE (SELECT count(*) FROM step_{number}) >= 0) one"  # noqa: S608
