"""Differences between rollups and their sources: a SELECT per rollup and period.

Each statement reads events (or the ledger), pending rows and the rollup in one snapshot. Because they are all written
in one transaction, a difference stays valid during concurrent recording and rolling up, and can be added later without
a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from analytics.models.usage import DAYS, MONTHS
from analytics.rollups.roll_up import PENDING_REVENUE, PENDING_USAGE
from analytics.rollups.upserts import month_number
from analytics.windows import bucket_after
from kit.storage.prepared import Parameter


@dataclass(frozen=True)
class Difference:
    """`select` returns a row per differing key, with the amount to add to each of `values`."""

    rollup: str  # table name
    keys: tuple[str, ...]
    values: tuple[str, ...]
    constants: dict[str, int]  # further key columns with fixed values
    select: str
    parameters: Sequence[Parameter]


EVENTS = """SELECT created, content_id, requester_id, reason, 1 AS n FROM analytics_accessevent
  WHERE account_id = %s AND created >= %s AND created < %s"""
PENDING_EVENTS = f"""SELECT hour, content_id, requester_id, nullif(outcome, ''), -1
  FROM {PENDING_USAGE} WHERE account_id = %s AND hour >= %s AND hour < %s"""  # noqa: S608
ENTRIES = """SELECT occurred_at, currency, license_type, content_id, requester_id, amount FROM analytics_ledgerentry
  WHERE account_id = %s AND occurred_at >= %s AND occurred_at < %s"""
PENDING_ENTRIES = f"""SELECT hour, currency, license_type, content_id, requester_id, -amount AS amount
  FROM {PENDING_REVENUE} WHERE account_id = %s AND hour >= %s AND hour < %s"""  # noqa: S608


@dataclass(frozen=True)
class Dialect:
    """SQL fragments of a database: parts of a timestamp, and the sources of the rollups with their periods."""

    hour: str
    date: str
    day: str
    month: str
    events: str
    entries: str
    periods: int


POSTGRESQL = Dialect(
    hour="date_trunc('hour', {0}, 'UTC')",
    date="({0} AT TIME ZONE 'UTC')::date",
    day="extract(day FROM {0} AT TIME ZONE 'UTC')::int",
    month="extract(month FROM {0} AT TIME ZONE 'UTC')::int",
    events=f"{EVENTS} UNION ALL {PENDING_EVENTS}",
    entries=f"{ENTRIES} UNION ALL {PENDING_ENTRIES}",
    periods=2,
)
SQLITE = Dialect(
    hour="substr({0}, 1, 13) || ':00:00'",
    date="substr({0}, 1, 10)",
    day="CAST(substr({0}, 9, 2) AS INTEGER)",
    month="CAST(substr({0}, 6, 2) AS INTEGER)",
    events=EVENTS,
    entries=ENTRIES,
    periods=1,
)


def drift_sql(keys: Sequence[str], values: Sequence[str], source: str, negated_rollup: str) -> str:
    """Return SQL for the keys whose sums over both SELECTs are not zero; `negated_rollup` selects the rollup's values
    negated.
    """
    names = ", ".join(keys)
    sums = ", ".join(f"sum({value}) AS {value}" for value in values)
    differ = " OR ".join(f"sum({value}) <> 0" for value in values)
    both_sides = f"({source} UNION ALL {negated_rollup}) both_sides"
    return f"SELECT {names}, {sums} FROM {both_sides} GROUP BY {names} HAVING {differ}"  # noqa: S608


def hourly(account: Parameter, month: datetime, dialect: Dialect) -> Difference:
    period = (account, month, bucket_after(month, "month"))
    recorded = f"""SELECT {dialect.hour.format("created")} AS hour, coalesce(reason, '') AS outcome,
      sum(n) AS requests FROM ({dialect.events}) events GROUP BY 1, 2"""  # noqa: S608
    negated_rollup = (
        "SELECT hour, outcome, -requests FROM analytics_hourlyusage WHERE account_id = %s AND hour >= %s AND hour < %s"
    )
    select = drift_sql(("hour", "outcome"), ("requests",), recorded, negated_rollup)
    parameters = (*period * dialect.periods, *period)
    return Difference("analytics_hourlyusage", ("hour", "outcome"), ("requests",), {}, select, parameters)


def running_sums(columns: Sequence[str]) -> str:
    """Return SQL for running totals over rows with `part` (of the period) and count `n`."""
    return ", ".join(f"sum(CASE WHEN part <= {part} THEN n ELSE 0 END) AS {of}" for part, of in enumerate(columns, 1))


def monthly(subject: str, account: Parameter, month: datetime, dialect: Dialect) -> Difference:
    recorded = f"""SELECT {subject}_id, {running_sums(DAYS)} FROM (
      SELECT {subject}_id, {dialect.day.format("created")} AS part, sum(n) AS n
      FROM ({dialect.events}) events GROUP BY 1, 2) days
      GROUP BY 1"""  # noqa: S608
    number = month_number(month)
    kept = f"""SELECT {subject}_id, {", ".join(f"-{day}" for day in DAYS)} FROM analytics_{subject}month
      WHERE account_id = %s AND month = {number}"""  # noqa: S608
    select = drift_sql((f"{subject}_id",), DAYS, recorded, kept)
    parameters = (*(account, month, bucket_after(month, "month")) * dialect.periods, account)
    return Difference(
        f"analytics_{subject}month", (f"{subject}_id",), tuple(DAYS), {"month": number}, select, parameters
    )


def yearly(subject: str, account: Parameter, year: int, horizon: datetime | None, dialect: Dialect) -> Difference:
    """Return the differences of a year.

    After a purge, only in its remaining months, and in `allowed` only for new keys.
    """
    begin = datetime(year, 1, 1, tzinfo=UTC)
    end = datetime(year + 1, 1, 1, tzinfo=UTC)
    is_purged = horizon is not None and horizon > begin
    first = horizon.month if is_purged and horizon else 1
    recorded = f"""SELECT {subject}_id, sum(CASE WHEN allowed THEN n ELSE 0 END) AS allowed,
      {running_sums(MONTHS)}, 0 AS has_row FROM (
        SELECT {subject}_id, {dialect.month.format("created")} AS part, reason IS NULL AS allowed, sum(n) AS n
        FROM ({dialect.events}) events GROUP BY 1, 2, 3) months GROUP BY 1"""  # noqa: S608
    # A purged month keeps the row's own total, from which later months are counted.
    base = f" + {MONTHS[first - 2]}" if first > 1 else ""
    months = ", ".join("0" if number < first else f"-{month}{base}" for number, month in enumerate(MONTHS, 1))
    kept = f"""SELECT {subject}_id, {"0" if is_purged else "-allowed"}, {months}, 1
      FROM analytics_{subject}year WHERE account_id = %s AND year = {year}"""  # noqa: S608
    values = ("allowed", *MONTHS)
    sums = {value: f"sum({value})" for value in values}
    if is_purged:
        sums["allowed"] = "CASE WHEN max(has_row) = 1 THEN 0 ELSE sum(allowed) END"
    select = f"""SELECT {subject}_id, {", ".join(f"{sums[value]} AS {value}" for value in values)}
      FROM ({recorded} UNION ALL {kept}) both_sides GROUP BY 1
      HAVING {" OR ".join(f"{sums[value]} <> 0" for value in values)}"""  # noqa: S608
    parameters = (*(account, max(begin, horizon) if horizon else begin, end) * dialect.periods, account)
    return Difference(f"analytics_{subject}year", (f"{subject}_id",), values, {"year": year}, select, parameters)


def revenue(subject: str, account: Parameter, month: datetime, dialect: Dialect) -> Difference:
    """Return the differences of a month; `subject` is tier, requester or content."""
    if subject == "tier":
        key = "license_type"
        value = "coalesce(license_type, '')"
        where = ""
    else:
        key = value = f"{subject}_id"
        where = f"WHERE {key} IS NOT NULL"
    keys = ("day", "currency", key)
    period = (account, month, bucket_after(month, "month"))
    recorded = f"""SELECT {dialect.date.format("occurred_at")} AS day, currency, {value} AS {key},
      sum(amount) AS amount FROM ({dialect.entries}) entries {where} GROUP BY 1, 2, 3"""  # noqa: S608
    kept = f"""SELECT {", ".join(keys)}, -amount FROM analytics_{subject}revenue
      WHERE account_id = %s AND day >= %s AND day < %s"""  # noqa: S608
    select = drift_sql(keys, ("amount",), recorded, kept)
    days = (account, period[1].date(), period[2].date())
    parameters = (*period * dialect.periods, *days)
    return Difference(f"analytics_{subject}revenue", keys, ("amount",), {}, select, parameters)


def revenue_year(subject: str, account: Parameter, year: int, dialect: Dialect) -> Difference:
    """Return the differences of a year; `subject` is requester or content. PostgreSQL only."""
    keys = (f"{subject}_id", "currency", "refund")
    columns = ", ".join(keys)
    entries = f"""SELECT *, amount < 0 AS refund FROM ({ENTRIES}) entries
      UNION ALL SELECT *, amount > 0 FROM ({PENDING_ENTRIES}) waiting"""  # noqa: S608 - what waits comes negated
    recorded = f"""SELECT {columns}, {running_sums(MONTHS)} FROM (
        SELECT {columns}, {dialect.month.format("occurred_at")} AS part, sum(amount) AS n
        FROM ({entries}) entries WHERE {subject}_id IS NOT NULL GROUP BY 1, 2, 3, 4) months GROUP BY 1, 2, 3"""  # noqa: S608
    kept = f"""SELECT {columns}, {", ".join(f"-{month}" for month in MONTHS)} FROM analytics_{subject}revenueyear
      WHERE account_id = %s AND year = {year}"""  # noqa: S608
    select = drift_sql(keys, MONTHS, recorded, kept)
    period = (account, datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC))
    parameters = (*period * dialect.periods, account)
    return Difference(f"analytics_{subject}revenueyear", keys, tuple(MONTHS), {"year": year}, select, parameters)
