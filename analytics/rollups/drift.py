"""Differences between rollups and their sources: a SELECT per rollup and period.

Each statement reads events (or the ledger), pending rows and the rollup in one snapshot. Because they are all written
in one transaction, a difference stays valid during concurrent recording and rolling up, and can be added later without
a lock.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analytics.rollups.definitions import DECISION, ENTRY, USAGE, Rollup, dates, month_number
from analytics.rollups.roll_up import HAS_PENDING_ROWS, PENDING_REVENUE, PENDING_USAGE
from kit.storage.loading import Parameter


@dataclass(frozen=True)
class DifferenceQuery:
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


def difference_query(
    rollup: Rollup, account: Parameter, begin: datetime, end: datetime, purged: datetime | None = None
) -> DifferenceQuery:
    """Return the query for the differences of a month or, of a yearly rollup, of a year.

    If decisions before `purged` are deleted, only those of later months of the year, and in `sums` only of new keys.
    """
    stored = {column: f"-{column}" for column in rollup.values}
    sums = {column: f"sum({column})" for column in rollup.values}
    since = begin
    if purged is not None and purged > begin:
        since = purged
        stored |= stored_since_purge(rollup, purged)
        sums |= {column: f"CASE WHEN max(is_stored) = 1 THEN 0 ELSE sum({column}) END" for column, _ in rollup.sums}
    sources = ENTRY_ROWS
    if rollup in USAGE:
        sources = DECISION_ROWS
    date = rollup.keys[0]
    keys, values = ", ".join(rollup.keys), ", ".join(rollup.values)
    totals = rollup.totals(f"({' UNION ALL '.join(sources)}) recorded")
    recorded_rows = f"SELECT {keys}, {values}, 0 AS is_stored FROM ({totals}) totals"  # noqa: S608
    stored_rows = (
        f"SELECT {keys}, {', '.join(stored.values())}, 1 FROM {rollup.table}"  # noqa: S608
        f" WHERE account_id = %s AND {date} >= %s AND {date} < %s"
    )
    added = ", ".join(f"{sums[column]} AS {column}" for column in rollup.values)
    differs = " OR ".join(f"{sums[column]} <> 0" for column in rollup.values)
    select = f"""SELECT {keys}, {added} FROM ({recorded_rows} UNION ALL {stored_rows}) both_sides
    GROUP BY {keys} HAVING {differs}"""  # noqa: S608
    parameters = (*(account, since, end) * len(sources), account, as_key(date, begin), as_key(date, end))
    return DifferenceQuery(rollup.table, rollup.keys, rollup.values, select, parameters)


def stored_since_purge(rollup: Rollup, purged: datetime) -> dict[str, str]:
    """Return what to subtract for each stored column if decisions of earlier months are deleted.

    A running total counts from the last purged month on, which keeps its own: with January to March purged, April's
    is `march - april`.
    """
    stored = {column: "0" for column, _ in rollup.sums}
    for number, column in enumerate(rollup.running, 1):
        if number < purged.month:
            stored[column] = "0"
        elif purged.month > 1:
            stored[column] = f"{rollup.running[purged.month - 2]} - {column}"
    return stored


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
