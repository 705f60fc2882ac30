"""Moves pending rows (analytics.models.pending) into the rollups; PostgreSQL only.

Rows are deleted in the transaction that adds them: a reader of both in one statement counts them once, and an
interrupted roll-up has no effect, so its commit need not wait for the disk. Most of the work is scattered updates, so
the rollups' pages reserve room for new row versions (migration 0011).
"""

from collections.abc import Iterator
from datetime import date, timedelta

from django.db import connection, transaction

from analytics.models.usage import DAYS, MONTHS
from analytics.rollups.upserts import (
    HOURLY,
    REVENUE,
    REVENUE_KEYS,
    YEARLY_REVENUE,
    month_number,
    monthly,
    revenue_of_years,
    running_totals,
    yearly,
)

LOCK = 7_202_611_042  # an arbitrary advisory lock number
BATCH_ROWS = 4_000  # rows per transaction
INTERVAL = timedelta(seconds=10)  # batches ask for the same items, so rolling up many at once is far cheaper

USAGE_LISTS = "unnest(contents, requesters, outcomes) AS one (content_id, requester_id, outcome)"
REVENUE_LISTS = """unnest(amounts, license_types, contents, requesters)
  AS one (amount, license_type, content_id, requester_id)"""
ROWS = "<rows>"  # placeholder for the source with one pending decision or charge per row (see in_order)
# What readers add to the rollups: one row per decision or charge.
PENDING_USAGE = f"analytics_recentusage, {USAGE_LISTS}"
# Whether decisions wait in pending rows. On SQLite the record itself adds them to the rollups.
HAS_PENDING_ROWS = connection.vendor == "postgresql"
PENDING_REVENUE = f"analytics_recentrevenue, {REVENUE_LISTS}"


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
        cursor.execute(DUE, [age.total_seconds()])
        due = [day for (day,) in cursor.fetchall()]
        if not due:
            return 0
        cursor.execute(SETTINGS)
        rows = 0
        for day in due:
            cursor.execute(usage_statement(day), [day, day, BATCH_ROWS])
            rows += cursor.fetchone()[0]
        cursor.execute(revenue_statement(), [BATCH_ROWS])
        return rows + int(cursor.fetchone()[0])


DUE = """
WITH waiting AS (
  SELECT hour, recorded FROM analytics_recentusage UNION ALL SELECT hour, recorded FROM analytics_recentrevenue)
SELECT DISTINCT (hour AT TIME ZONE 'UTC')::date FROM waiting
WHERE EXISTS (SELECT FROM waiting WHERE recorded <= statement_timestamp() - make_interval(secs => %s))"""
SETTINGS = "SELECT set_config('synchronous_commit', 'off', true), set_config('jit', 'off', true)"


def usage_statement(day: date) -> str:
    """Return the statement for decisions of a UTC day, so that each rollup updates the same columns."""
    where = "WHERE hour >= %s::timestamp AT TIME ZONE 'UTC' AND hour < (%s::date + 1)::timestamp AT TIME ZONE 'UTC'"
    hours = f"SELECT account_id, hour, outcome, count(*) FROM {ROWS} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"  # noqa: S608
    steps = [HOURLY.format(source=hours)]
    for subject in ("content", "requester"):
        allowed = "count(*) FILTER (WHERE outcome = '')"
        year_counts = counts_sql(subject, day.year, [allowed, *running_totals("count(*)", MONTHS, day.month)])
        month_counts = counts_sql(subject, month_number(day), running_totals("count(*)", DAYS, day.day))
        steps += [yearly(subject, day.month, year_counts), monthly(subject, day.day, month_counts)]
    return move_statement("analytics_recentusage", where, f"account_id, hour, one.* FROM taken, {USAGE_LISTS}", steps)


def counts_sql(subject: str, period: int, counts: list[str]) -> str:
    return f"SELECT account_id, {period}, {subject}_id, {', '.join(counts)} FROM {ROWS} GROUP BY 1, 3 ORDER BY 1, 3"  # noqa: S608


def revenue_statement() -> str:
    steps = []
    for subject, key in REVENUE_KEYS.items():
        source = f"""SELECT account_id, day, currency, {key}, sum(amount) FROM {ROWS} WHERE {key} IS NOT NULL
          GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"""  # noqa: S608 - made of constants
        steps.append(REVENUE.format(subject=subject, key=key, source=source))
        if subject in YEARLY_REVENUE:
            steps.append(revenue_of_years(subject, ROWS))
    columns = "account_id, (hour AT TIME ZONE 'UTC')::date AS day, currency, one.*"
    return move_statement("analytics_recentrevenue", "", f"{columns} FROM taken, {REVENUE_LISTS}", steps)


def move_statement(table: str, where: str, selected: str, steps: list[str]) -> str:
    """Return a statement that deletes pending rows, runs the steps on them, and returns their number.

    Parameters: those of `where`, then the maximum number of rows. Each step reads from ROWS.
    """
    return f"""
WITH taken AS (
  DELETE FROM {table} WHERE id IN (SELECT id FROM {table} {where} ORDER BY id LIMIT %s) RETURNING *
), one AS MATERIALIZED (SELECT {selected}), {", ".join(chain_steps(steps))}
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
