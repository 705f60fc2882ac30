"""Today's and yesterday's totals by account, from hourly figures, so that a busy day costs no more than a
quiet one.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import astuple

from analytics.rollups.definitions import accounts_condition, adapt
from analytics.rollups.roll_up import HOURS
from analytics.windows import DAY, floor, midnight
from kit.storage.replica import reading_connection


class DayTotals(Struct, frozen=True):
    """Decisions of today and yesterday; `…_whole` counts only the hours of the day that have ended by now."""

    today: int = 0
    today_allowed: int = 0
    today_whole: int = 0
    yesterday: int = 0
    yesterday_allowed: int = 0
    yesterday_whole: int = 0


def today_and_yesterday(accounts: Sequence[str], now: datetime) -> dict[str, DayTotals]:
    """Return the totals by account id; accounts without decisions are absent."""
    today = midnight(now)
    hour = floor(now, "hour")
    if not accounts:
        return {}
    condition, owners = accounts_condition(accounts)
    parts = ["hour >= %s", "hour >= %s AND outcome = ''", "hour >= %s AND hour < %s"]
    parts += ["hour < %s", "hour < %s AND outcome = ''", "hour < %s"]
    sums = ", ".join(f"coalesce(sum(requests) FILTER (WHERE {part}), 0)" for part in parts)
    part_parameters = [today, today, today, hour, today, today, hour - DAY]
    with reading_connection().cursor() as cursor:
        cursor.execute(
            f"SELECT account_id, {sums} FROM ({HOURS}) figures"  # noqa: S608
            f" WHERE {condition} AND hour >= %s AND hour < %s GROUP BY account_id",
            [adapt(value) for value in (*part_parameters, *owners, today - DAY, today + DAY)],
        )
        account_by_owner = dict(zip(owners, accounts, strict=True))
        return {account_by_owner[owner]: DayTotals(*map(int, counts)) for owner, *counts in cursor.fetchall()}


def add_totals(days: Iterable[DayTotals]) -> DayTotals:
    return DayTotals(*map(sum, zip(astuple(DayTotals()), *map(astuple, days), strict=True)))
