"""Calendar months, quarters and years of an account: the periods that figures, the ledger and statements offer.

A period is written `2026-11`, `2026-Q4` or `2026`; `month` is this month and `last-month` the one before.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime

from msgspec import Struct

from accounts.models import Account
from kit.values.calendar import Months, first_of_month

IS_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])").fullmatch
IS_QUARTER = re.compile(r"(\d{4})-Q([1-4])").fullmatch
IS_YEAR = re.compile(r"\d{4}").fullmatch
YEARS = range(2000, 2999)
THIS_MONTH, LAST_MONTH = "month", "last-month"
OFFERED_MONTHS, OFFERED_QUARTERS, OFFERED_YEARS = 24, 8, 5


class CalendarPeriod(Struct, frozen=True):
    """Whole months: the first day of the first, and their number."""

    first: date
    months: int

    @property
    def after(self) -> date:
        return first_of_month(self.first, self.months)

    def bounds(self, months: Months) -> tuple[datetime, datetime]:
        """Return the moments at which the period begins and has ended."""
        return months.start(self.first), months.start(self.after)


def parse_period(text: str, months: Months, now: datetime) -> CalendarPeriod | None:
    """Return the period of a text, or None if it names none."""
    if text in (THIS_MONTH, LAST_MONTH):
        return CalendarPeriod(first_of_month(months.month_of(now), 0 if text == THIS_MONTH else -1), 1)
    if not text[:4].isascii() or not text[:4].isdigit() or int(text[:4]) not in YEARS:
        return None
    if (month := IS_MONTH(text)) is not None:
        return CalendarPeriod(date(int(month[1]), int(month[2]), 1), 1)
    if (quarter := IS_QUARTER(text)) is not None:
        return CalendarPeriod(date(int(quarter[1]), int(quarter[2]) * 3 - 2, 1), 3)
    return CalendarPeriod(date(int(text), 1, 1), 12) if IS_YEAR(text) is not None else None


def offered_periods(months: Months, now: datetime) -> list[tuple[str, str]]:
    """Return the periods to choose from, with their labels: the newest first."""
    this_month = months.month_of(now)
    first = [(THIS_MONTH, "This month"), (LAST_MONTH, "Last month")]
    single = [first_of_month(this_month, -number) for number in range(OFFERED_MONTHS)]
    quarter = first_of_month(this_month, -((this_month.month - 1) % 3))
    quarters = [first_of_month(quarter, -3 * number) for number in range(OFFERED_QUARTERS)]
    years = [str(this_month.year - number) for number in range(OFFERED_YEARS)]
    return [
        *first,
        *((f"{month:%Y-%m}", f"{month:%Y-%m}") for month in single),
        *((f"{begin:%Y}-Q{begin.month // 3 + 1}",) * 2 for begin in quarters),
        *((year, year) for year in years),
    ]


def common_months(accounts: Sequence[Account]) -> Months:
    """Return the months of the accounts if they are the same, otherwise those of UTC."""
    found = {account.months for account in accounts}
    return found.pop() if len(found) == 1 else Months()
