"""The query of the overview: one account or all, a period, a currency."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from accounts.models import Account
from analytics.rates.conversion import check_currency
from analytics.windows import PERIODS
from kit.http.errors import InvalidRequest
from operators.base.chosen_account import find_account, offered_accounts
from operators.base.scope import Scope

# So many accounts are added up at most, and offered to choose from: a page costs the same however many there are.
MOST_ACCOUNTS = 200
DEFAULT_PERIOD, DEFAULT_CURRENCY = "30d", "USD"
IS_CODE = re.compile("[A-Z]{3}").fullmatch
LABELS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "year": "a year"}


@dataclass
class Choice:
    accounts: list[Account]  # those whose figures are added up
    offered: list[Account]
    account: Account | None = None  # the one that was chosen; None for all
    there_are_more: bool = False  # accounts than are offered
    period: str = DEFAULT_PERIOD
    currency: str = DEFAULT_CURRENCY
    problems: list[str] = field(default_factory=list)  # what was asked for and cannot be shown

    @property
    def account_ids(self) -> list[str]:
        return [account.pk for account in self.accounts]

    @property
    def account_filter(self) -> dict[str, str]:
        """The chosen account as a filter of a list of the admin."""
        return {"account__id__exact": self.account.pk} if self.account else {}

    def query(self, **changed: str) -> dict[str, str]:
        """The query of the page's address, with changes."""
        chosen = {"account": self.account.pk} if self.account else {}
        return {**chosen, "period": self.period, "currency": self.currency, **changed}


def read_choice(query: Mapping[str, str], scope: Scope, chosen: str | None = None) -> Choice:
    """`chosen` is the id of the account where the query names none.

    Something unknown is said in `problems`, and the default takes its place; for an account, no account.
    """
    offered, there_are_more = offered_accounts(scope, MOST_ACCOUNTS)
    choice = Choice(offered, offered, there_are_more=there_are_more)
    if wanted := query.get("account", chosen or ""):
        choice.account = next((one for one in offered if one.pk == wanted), None) or find_account(wanted, scope)
        choice.accounts = [choice.account] if choice.account else []
        if choice.account is None:
            choice.problems.append("You see no account of this id. Choose another.")
    period = query.get("period", DEFAULT_PERIOD)
    if period in PERIODS:
        choice.period = period
    else:
        choice.problems.append(f"There is no such period: it is one of {', '.join(PERIODS)}.")
    currency = query.get("currency", DEFAULT_CURRENCY)
    try:
        choice.currency = check_currency(currency if IS_CODE(currency) else "")
    except InvalidRequest as error:
        choice.problems.append(error.message)
    return choice
