"""The overview's query: one account or all, period, currency; and the window of a page's figures.

A calendar period is written `2026-11`, `2026-Q4` or `2026`; `month` is this month and `last-month` the one before.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone
from msgspec import Struct

from accounts.models import Account
from analytics.models import AccessEvent
from analytics.rates.conversion import check_currency
from analytics.revenue.report import change_percent
from analytics.revenue.serializers import HUNDREDTH
from analytics.windows import MICROSECOND, PERIODS, Window, end_of_day, start_of_period
from kit.http.errors import InvalidRequest
from kit.values.calendar import Months, first_of_month
from kit.values.decimals import WIDE
from licensing.policies.decision import Reason
from operators.base.figures.charts import share
from operators.base.links import Option, list_url
from operators.base.scope import choose_account, chosen_account_id, offered_accounts, request_scope
from operators.base.times import time_filter

match_month = re.compile(r"(\d{4})-(0[1-9]|1[0-2])").fullmatch
match_quarter = re.compile(r"(\d{4})-Q([1-4])").fullmatch
match_year = re.compile(r"\d{4}").fullmatch
YEARS = range(2000, 2999)
THIS_MONTH, LAST_MONTH = "month", "last-month"
OFFERED_MONTHS, OFFERED_QUARTERS, OFFERED_YEARS = 24, 8, 5
# Limit of accounts to add up and to offer, so that the page's cost does not depend on their number.
MAX_ACCOUNTS = 200
DEFAULT_PERIOD, DEFAULT_CURRENCY = "30d", "USD"
match_code = re.compile("[A-Z]{3}").fullmatch
LABELS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "year": "a year"}
GROUPS = {"7d": "day", "30d": "day", "90d": "day", "year": "week"}  # of the charts, as in the reports' `groupBy`
GROUPS_OF_MONTHS = {1: "day", 3: "day", 12: "month"}  # by the length of a calendar period


class CalendarPeriod(Struct, frozen=True):
    """Whole months: the first day of the first, and their number."""

    first: date
    months: int

    @property
    def after(self) -> date:
        return first_of_month(self.first, self.months)

    @property
    def previous(self) -> "CalendarPeriod":
        return CalendarPeriod(first_of_month(self.first, -self.months), self.months)

    def __str__(self) -> str:
        names = {1: f"{self.first:%Y-%m}", 3: f"{self.first:%Y}-Q{self.first.month // 3 + 1}", 12: f"{self.first:%Y}"}
        return names[self.months]

    def bounds(self, months: Months) -> tuple[datetime, datetime]:
        """Return the moments at which the period begins and has ended."""
        return months.start(self.first), months.start(self.after)


def parse_period(text: str, months: Months, now: datetime) -> CalendarPeriod | None:
    """Return the period of a text, or None if it names none."""
    if text in (THIS_MONTH, LAST_MONTH):
        return CalendarPeriod(first_of_month(months.month_of(now), 0 if text == THIS_MONTH else -1), 1)
    if not text[:4].isascii() or not text[:4].isdigit() or int(text[:4]) not in YEARS:
        return None
    if (month := match_month(text)) is not None:
        return CalendarPeriod(date(int(month[1]), int(month[2]), 1), 1)
    if (quarter := match_quarter(text)) is not None:
        return CalendarPeriod(date(int(quarter[1]), int(quarter[2]) * 3 - 2, 1), 3)
    return CalendarPeriod(date(int(text), 1, 1), 12) if match_year(text) is not None else None


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
        *((str(CalendarPeriod(month, 1)),) * 2 for month in single),
        *((str(CalendarPeriod(begin, 3)),) * 2 for begin in quarters),
        *((year, year) for year in years),
    ]


def common_months(accounts: Sequence[Account]) -> Months:
    """Return the months of the accounts if they are the same, otherwise those of UTC."""
    months = {account.months for account in accounts}
    if len(months) == 1:
        return months.pop()
    return Months()


@dataclass
class FigureSelection:
    accounts: list[Account]  # accounts whose figures are added up
    offered: list[Account]
    now: datetime
    account: Account | None = None  # the chosen account; None for all
    there_are_more: bool = False  # more accounts exist than are offered
    period: str = DEFAULT_PERIOD
    currency: str = DEFAULT_CURRENCY
    problems: list[str] = field(default_factory=list)  # requested values that cannot be shown

    @property
    def account_ids(self) -> list[str]:
        return [account.pk for account in self.accounts]

    @property
    def account_filter(self) -> dict[str, str]:
        """Return the chosen account as a filter of an admin list."""
        if self.account:
            return {"account__id__exact": self.account.pk}
        return {}

    @property
    def months(self) -> Months:
        """The calendar of the accounts, of UTC if they have different ones."""
        return common_months(self.accounts)

    @property
    def calendar_period(self) -> CalendarPeriod | None:
        """The chosen calendar period; None for days that end today."""
        if self.period not in PERIODS:
            return parse_period(self.period, self.months, self.now)
        return None

    @property
    def calendar_periods(self) -> list[tuple[str, str]]:
        """Return the calendar periods to choose from, with their labels."""
        offered = offered_periods(self.months, self.now)
        is_other = self.calendar_period is not None and self.period not in dict(offered)
        return [(self.period, self.period), *offered] if is_other else offered

    @property
    def compared_with(self) -> str:
        """Name the period just before, with which revenue is compared."""
        period = self.calendar_period
        return "as many days before" if period is None else str(period.previous)

    @property
    def periods(self) -> list[Option]:
        return [
            Option(LABELS[period], f"?{urlencode(self.query(period=period))}", period == self.period)
            for period in PERIODS
        ]

    def query(self, **changed: str) -> dict[str, str]:
        """Return the page's query with changes."""
        query = {"period": self.period, "currency": self.currency} | changed
        if self.account is not None:
            query = {"account": self.account.pk} | query
        return query


def read_selection(request: HttpRequest) -> FigureSelection:
    """Read the choice from the query; an account in it becomes the chosen one, otherwise the earlier choice applies.

    Unknown values are reported in `problems` and replaced by defaults; an unknown account by none.
    """
    query = request.GET
    offered, there_are_more = offered_accounts(request, MAX_ACCOUNTS)
    choice = FigureSelection(offered, offered, timezone.now(), there_are_more=there_are_more)
    if account_id := query.get("account", chosen_account_id(request) or ""):
        chosen = next((account for account in offered if account.pk == account_id), None)
        choice.account = chosen or request_scope(request).account(account_id)
        if choice.account is not None:
            choice.accounts = [choice.account]
        elif "account" in query:
            choice.accounts = []
            choice.problems.append("You cannot see an account with this id. Choose another.")
    if "account" in query:
        choose_account(request, choice.account)
    period = query.get("period", DEFAULT_PERIOD)
    if period in PERIODS or parse_period(period, choice.months, choice.now) is not None:
        choice.period = period
    else:
        choice.problems.append(
            f"There is no such period: it is one of {', '.join(PERIODS)}, or a month such as 2026-11."
        )
    currency = query.get("currency", DEFAULT_CURRENCY)
    try:
        choice.currency = check_currency(currency if match_code(currency) else "")
    except InvalidRequest as error:
        choice.problems.append(error.message)
    return choice


class BarRow(Struct, frozen=True):
    """A row of a list: name, figure, length of its bar in per cent, and link."""

    name: str
    figure: str
    share: str
    link: str = ""
    hint: str = ""
    figure_link: str = ""  # link to what the figure counts


def denial_rows(counts: Iterable[tuple[str, int]], denied: int, filters: dict[str, str]) -> list[BarRow]:
    """Return a row for each reason with its number of denials, which links to the decisions."""
    rows = []
    for reason, count in counts:
        link = list_url(AccessEvent, outcome=reason, **filters)
        rows.append(BarRow(Reason(reason).words, f"{count:,}", share(count, denied), link, reason))
    return rows


def chosen_window(choice: FigureSelection, now: datetime) -> Window:
    """Return the chosen calendar period, or days of the accounts' time zone that end today."""
    months = choice.months
    period = choice.calendar_period
    if period is not None:
        before, _ = period.previous.bounds(months)
        return Window(*period.bounds(months), GROUPS_OF_MONTHS[period.months], months.zone, before)
    end = end_of_day(now, months.zone)
    return Window(start_of_period(end, choice.period, months.zone), end, GROUPS[choice.period], months.zone)


def days_in_words(window: Window) -> dict[str, object]:
    """Return a window for a template, with its last day and the name of its time zone."""
    return {"window": window, "last_day": window.end - MICROSECOND, "zone_name": str(window.zone)}


def window_filter(field: str, window: Window) -> dict[str, str]:
    """Return the window as a filter of a list by time."""
    return time_filter(field, window.start, window.end - MICROSECOND)


def render_change(total: Decimal, before: Decimal) -> str:
    """Return the change in per cent; empty if there was nothing before."""
    return render_percent(change_percent(total, before))


def render_percent(change: Decimal | None) -> str:
    """Return a change with its sign, or an empty text for None."""
    if change is None:
        return ""
    return f"{change.quantize(HUNDREDTH, context=WIDE):+,f} %"
