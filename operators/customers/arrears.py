"""Customers whose accesses no wallet pays yet, and what a new wallet, a top-up or a merge changes for them."""

from collections.abc import Iterable

from django.utils import timezone

from analytics.models import Wallet
from analytics.wallets.services import name_of
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import ACCESS, in_units
from licensing.access.charging.credits import license_key, paying_wallet
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester

BILLED = (
    "Accesses of {} are billed afterwards today. From then on they are paid from {}, and denied once it is used up. "
    "To bill further ones, use Set a quota on the wallet's page: May go below 0 by."
)
UNCOUNTED = (
    "Accesses of {} are not counted today. From then on each spends one of {}, and they are denied once none is left."
)


def unpaid_units(holder: Requester, ignored: Wallet | None = None) -> list[tuple[Requester, str]]:
    """Return the customer with each unit in which a running licence counts or charges accesses without a wallet.

    With an ignored wallet, only licences that it could pay for count.
    """
    wallets = [one for one in holder.wallets or () if ignored is None or one != name_of(ignored)]
    licenses = active_licenses(License.objects.filter(requester=holder), timezone.now())
    if ignored is not None and ignored.license_id is not None:
        licenses = licenses.filter(pk=ignored.license_id)
    units = {
        unit
        for license_id, currency in licenses.values_list("pk", "access_currency")
        for unit in (ACCESS, currency)
        if unit and paying_wallet(wallets, unit, license_key(license_id)) is None
    }
    return [(holder, unit) for unit in sorted(units)]


def opening_warning(wallet: Wallet) -> str | None:
    """Warn if a new wallet ends free accesses, or billing in arrears."""
    holder = wallet.requester
    if (holder, wallet.unit) not in unpaid_units(holder, ignored=wallet):
        return None
    return first_wallet_warning(holder, wallet)


def first_wallet_warning(holder: Requester, wallet: Wallet) -> str:
    left = in_units(wallet.available, wallet.unit)
    return UNCOUNTED.format(holder, left) if wallet.unit == ACCESS else BILLED.format(holder, f"credit of {left}")


def top_up_warnings(holder: Requester, unit: str) -> list[str]:
    """Warn if the customer's first wallet in a currency ends its billing in arrears."""
    if unit == ACCESS or (holder, unit) not in unpaid_units(holder):
        return []
    return [BILLED.format(holder, "its credit")]


def merge_warnings(unpaid: Iterable[tuple[Requester, str]], target: Requester) -> list[str]:
    """Warn of the units without a wallet before a merge (`unpaid_units`) in which the target has one afterwards."""
    books = as_of(Wallet.objects.filter(requester=target, license=None), timezone.now())
    wallets = {book.wallet.unit: book.wallet for book in books}
    return [first_wallet_warning(holder, wallets[unit]) for holder, unit in unpaid if unit in wallets]
