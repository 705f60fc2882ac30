"""Differences between rollups and their sources: a SELECT per rollup and period.

Each statement reads events (or the ledger), pending rows and the rollup in one snapshot. Because they are all written
in one transaction, a difference stays valid during concurrent recording and rolling up, and can be added later without
a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics.rollups.roll_up import HAS_PENDING_ROWS, PENDING_REVENUE, PENDING_USAGE
from analytics.rollups.upserts import DECISION, ENTRY, USAGE, Rollup, dates, month_number
from kit.storage.loading import Parameter


@dataclass(frozen=True)
class Difference:
    """`select` returns a row per differing key, with the amount to add to each of `values`."""

    rollup: str  # table name
    keys: tuple[str, ...]
    values: tuple[str, ...]
    select: str
    parameters: Sequence[Parameter]


# What is recorded, less what is still pending. Each has three parameters: the account, and a period's start and end.
DECISION_ROWS = [
    f"SELECT {DECISION} FROM analytics_accessevent WHERE account_id = %s AND created >= %s AND created < %s"  # noqa: S608
]
ENTRY_ROWS = [
    f"SELECT {ENTRY} FROM analytics_ledgerentry WHERE account_id = %s AND occurred_at >= %s AND occurred_at < %s"  # noqa: S608
]
if HAS_PENDING_ROWS:
    waiting = "WHERE account_id = %s AND hour >= %s AND hour < %s"
    DECISION_ROWS.append(
        f"SELECT account_id, content_id, requester_id, outcome, -1, {dates('hour')} FROM {PENDING_USAGE} {waiting}"  # noqa: S608
    )
    ENTRY_ROWS.append(
        "SELECT account_id, content_id, requester_id, license_type, currency, -amount, amount < 0,"  # noqa: S608
        f" {dates('hour')} FROM {PENDING_REVENUE} {waiting}"
    )


def find_differences(
    rollup: Rollup, account: Parameter, begin: datetime, end: datetime, purged: datetime | None = None
) -> Difference:
    """Return the differences of a month or, of a yearly rollup, of a year.

    If decisions before `purged` are deleted, only those of later months of the year, and in `sums` only of new keys.
    """
    stored = {column: f"-{column}" for column in rollup.values}
    sums = {column: f"sum({column})" for column in rollup.values}
    since = begin
    if purged is not None and purged > begin:
        since = purged
        # A purged month keeps the row's own total, from which later months are counted.
        for number, column in enumerate(rollup.running, 1):
            if number < purged.month:
                stored[column] = "0"
            elif purged.month > 1:
                stored[column] = f"{rollup.running[purged.month - 2]} - {column}"
        for column, _ in rollup.sums:
            stored[column] = "0"
            sums[column] = f"CASE WHEN max(is_stored) = 1 THEN 0 ELSE sum({column}) END"
    sources = ENTRY_ROWS
    if rollup in USAGE:
        sources = DECISION_ROWS
    date = rollup.keys[0]
    keys = ", ".join(rollup.keys)
    recorded = rollup.totals(f"({' UNION ALL '.join(sources)}) recorded")
    select = f"""SELECT {keys}, {", ".join(f"{sums[column]} AS {column}" for column in rollup.values)} FROM (
      SELECT {keys}, {", ".join(rollup.values)}, 0 AS is_stored FROM ({recorded}) totals
      UNION ALL SELECT {keys}, {", ".join(stored.values())}, 1 FROM {rollup.table}
      WHERE account_id = %s AND {date} >= %s AND {date} < %s) both_sides
    GROUP BY {keys} HAVING {" OR ".join(f"{sums[column]} <> 0" for column in rollup.values)}"""  # noqa: S608
    parameters = (*(account, since, end) * len(sources), account, as_key(date, begin), as_key(date, end))
    return Difference(rollup.table, rollup.keys, rollup.values, select, parameters)


def as_key(column: str, moment: datetime) -> Parameter:
    """Return the value that a rollup's date has at the start of a month."""
    match column:
        case "hour":
            return moment
        case "day":
            return moment.date()
        case "month":
            return month_number(moment)
    return moment.year
