"""The overview's query: one account or all, period, currency."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils import timezone

from accounts.models import Account
from analytics.rates.conversion import check_currency
from analytics.windows import PERIODS
from kit.http.errors import InvalidRequest
from kit.values.calendar import Months
from operators.base.chosen_account import choose, chosen_id, offered_accounts
from operators.base.figures.calendar_periods import CalendarPeriod, common_months, offered_periods, parse_period
from operators.base.scope import request_scope

# Limit of accounts to add up and to offer, so that the page's cost does not depend on their number.
MOST_ACCOUNTS = 200
DEFAULT_PERIOD, DEFAULT_CURRENCY = "30d", "USD"
IS_CODE = re.compile("[A-Z]{3}").fullmatch
LABELS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "year": "a year"}


class ShownPeriod(NamedTuple):
    label: str
    query: str  # query of the page with this period
    is_chosen: bool


@dataclass
class Choice:
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
        return {"account__id__exact": self.account.pk} if self.account else {}

    @property
    def months(self) -> Months:
        """The calendar of the accounts, of UTC if they have different ones."""
        return common_months(self.accounts)

    @property
    def calendar_period(self) -> CalendarPeriod | None:
        """The chosen calendar period; None for days that end today."""
        return parse_period(self.period, self.months, self.now) if self.period not in PERIODS else None

    @property
    def calendar_periods(self) -> list[tuple[str, str]]:
        """Return the calendar periods to choose from, with their labels."""
        offered = offered_periods(self.months, self.now)
        is_other = self.calendar_period is not None and self.period not in dict(offered)
        return [(self.period, self.period), *offered] if is_other else offered

    @property
    def periods(self) -> list[ShownPeriod]:
        """Return the periods with links."""
        return [
            ShownPeriod(LABELS[period], urlencode(self.query(period=period)), period == self.period)
            for period in PERIODS
        ]

    def query(self, **changed: str) -> dict[str, str]:
        """Return the page's query with changes."""
        chosen = {"account": self.account.pk} if self.account else {}
        return {**chosen, "period": self.period, "currency": self.currency, **changed}


def read_choice(request: HttpRequest) -> Choice:
    """Read the choice from the query; an account in it becomes the chosen one, otherwise the earlier choice applies.

    Unknown values are reported in `problems` and replaced by defaults; an unknown account by none.
    """
    query = request.GET
    offered, there_are_more = offered_accounts(request, MOST_ACCOUNTS)
    choice = Choice(offered, offered, timezone.now(), there_are_more=there_are_more)
    if wanted := query.get("account", chosen_id(request) or ""):
        known = next((one for one in offered if one.pk == wanted), None)
        choice.account = known or request_scope(request).account(wanted)
        if choice.account is not None:
            choice.accounts = [choice.account]
        elif "account" in query:
            choice.accounts = []
            choice.problems.append("You cannot see an account with this id. Choose another.")
    if "account" in query:
        choose(request, choice.account)
    period = query.get("period", DEFAULT_PERIOD)
    if period in PERIODS or parse_period(period, choice.months, choice.now) is not None:
        choice.period = period
    else:
        choice.problems.append(
            f"There is no such period: it is one of {', '.join(PERIODS)}, or a month such as 2026-11."
        )
    currency = query.get("currency", DEFAULT_CURRENCY)
    try:
        choice.currency = check_currency(currency if IS_CODE(currency) else "")
    except InvalidRequest as error:
        choice.problems.append(error.message)
    return choice
