"""Balances of customers, and the payments, credit and fees that their pages show."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import F, QuerySet, Sum
from django.utils import timezone
from django.utils.html import format_html_join

from analytics.ledger.due import book_due
from analytics.models import BalanceChange, Payment
from analytics.payments.models import PaymentKind
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import in_units
from kit.values.currencies import in_full
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester
from operators.base.figures.terms import fee_text
from operators.base.links import link_to
from operators.base.times import time_in_words

MAX_FEES = 5  # shown, the nearest first


def money_facts(requester: Requester, now: datetime) -> dict[str, str]:
    """Return what is owed, the last payment and the fees to come, as facts of the page."""
    book_due(requester.account_id)
    shown = {
        "Balance": owed(requester) or "nothing owed",
        **beyond_credit_facts(requester),
        **merged_facts(requester),
        "Last payment": last_payment(requester),
        "Fees to come": coming_fees(requester),
    }
    if requester.wallets:
        shown["Credit ends or is refilled"] = credit_end(requester, now)
    return shown


def sums_of(changes: QuerySet[BalanceChange]) -> QuerySet[Any, Any]:
    """Return `debt`, `earned` and `credit_left` of each customer in each currency."""
    groups = changes.filter(requester__isnull=False).order_by().values("requester_id", "currency")
    return groups.annotate(debt=Sum("owed"), earned=Sum("revenue"), credit_left=Sum("credit"))


def beyond_credit(sums: QuerySet[Any, Any]) -> QuerySet[Any, Any]:
    """Return those sums (`sums_of`) in which more was paid in advance than there is credit: it expired, say."""
    return sums.filter(debt__lt=0).filter(debt__lt=0 - F("credit_left"))


def beyond_credit_facts(requester: Requester) -> dict[str, str]:
    """Return what was paid in advance beyond the credit of the customer's wallets, as a fact of the page."""
    units = {unit for _, unit, _ in requester.wallets or ()}
    if not units:
        return {}
    sums = sums_of(BalanceChange.objects.filter(account=requester.account_id, requester=requester, currency__in=units))
    amounts = [
        in_full(-row["debt"] - max(row["credit_left"], Decimal(0)), row["currency"])
        for row in beyond_credit(sums).order_by("currency")
    ]
    if not amounts:
        return {}
    return {"Paid beyond its credit": f"{', '.join(amounts)}: if credit has expired, charge it or record a payout"}


def open_balances(requester: Requester) -> list[tuple[str, Decimal]]:
    """Return what is owed in each currency, where it is not 0."""
    sums = sums_of(BalanceChange.objects.filter(account=requester.account_id, requester=requester))
    return list(sums.exclude(debt=0).order_by("currency").values_list("currency", "debt"))


def owed(requester: Requester) -> str:
    return ", ".join(balance_in_words(closing, code) for code, closing in open_balances(requester))


def merged_balances(requester: Requester) -> list[tuple[Requester, Decimal, str]]:
    """Return what customers that were merged into it owe, where it is not 0: a merge leaves it with them."""
    merged = {one.pk: one for one in requester.merged_ones}
    if not merged:
        return []
    sums = sums_of(BalanceChange.objects.filter(account=requester.account_id, requester__in=list(merged)))
    rows = sums.exclude(debt=0).order_by("requester_id", "currency").values_list("requester_id", "debt", "currency")
    return [(merged[number], debt, currency) for number, debt, currency in rows]


def merged_facts(requester: Requester) -> dict[str, str]:
    """Return the balances that stay with customers that were merged into it, as a fact of the page."""
    rows = ((link_to(one), balance_in_words(debt, code)) for one, debt, code in merged_balances(requester))
    listed = format_html_join("; ", "{}: {}", rows)
    return {"Stays with merged customers": listed} if listed else {}


def balance_in_words(closing: Decimal, currency: str) -> str:
    """Return text such as "5.00 EUR owed", or "5.00 EUR paid in advance" if the balance is negative."""
    if closing < 0:
        return f"{in_full(-closing, currency)} paid in advance"
    return f"{in_full(closing, currency)} owed"


def totals_in_words(balances: Iterable[tuple[str, Decimal]]) -> list[str]:
    """Return what is owed in each currency, then what was paid in advance: neither reduces the other."""
    sums: defaultdict[tuple[bool, str], Decimal] = defaultdict(Decimal)
    for currency, balance in balances:
        sums[balance < 0, currency] += balance
    return [balance_in_words(total, currency) for (_, currency), total in sorted(sums.items()) if total]


def balance_in(requester: Requester, currency: str) -> Decimal:
    return dict(open_balances(requester)).get(currency, Decimal(0))


def balance_afterwards(balance: Decimal, currency: str) -> str:
    """Say what the balance becomes. Pass the one that a tried booking leaves, which is read in its transaction."""
    return f"Its balance is then: {balance_in_words(balance, currency)}."


def obligations(requester: Requester, now: datetime) -> list[tuple[str, str]]:
    """Return the open balance and the number of running licences, without those that there are not."""
    running_count = active_licenses(License.objects.filter(requester=requester), now).count()
    facts = [("Balance", owed(requester)), ("Running licences", f"{running_count:,}" if running_count else "")]
    return [(name, value) for name, value in facts if value]


def what_it_has(requester: Requester) -> str:
    """Return a customer with its balance, credit and running licences."""
    facts = obligations(requester, timezone.now())
    wallets = as_of(Wallet.objects.filter(requester=requester).order_by("created", "pk"), timezone.now())
    facts += [("Credit", in_units(book.wallet.balance, book.wallet.unit)) for book in wallets]
    listed = ", ".join(f"{name.lower()} {value}" for name, value in facts) or "nothing owed, no credit, no licence"
    return f"{requester} ({requester.requester_id}): {listed}"


def credit_end(requester: Requester, now: datetime) -> str:
    """Return when credit of the customer's wallets ends next, or is refilled."""
    wallets = Wallet.objects.filter(requester=requester)
    grants = Grant.objects.filter(wallet__in=wallets, ended_at__isnull=True, remaining__gt=0, expires_at__gt=now)
    refills = wallets.filter(next_refill_at__gt=now).values_list("next_refill_at", flat=True)
    ends = [moment for moment in [*refills, *grants.values_list("expires_at", flat=True)] if moment is not None]
    return f"on {time_in_words(min(ends))}" if ends else "never"


def last_payment(requester: Requester) -> str:
    payments = Payment.objects.filter(requester=requester, kind=PaymentKind.PAYMENT, reverses=None, voided_at=None)
    newest = payments.order_by("-received_at", "-pk")
    payment = next((one for one in newest.iterator() if not one.is_transfer), None)
    if payment is None:
        return "none"
    return f"{in_full(payment.amount, payment.currency)} on {time_in_words(payment.received_at)}"


def coming_fees(requester: Requester) -> str:
    """Return the next fee of each licence, the nearest first."""
    licenses = License.objects.filter(requester=requester, next_fee_at__isnull=False).order_by("next_fee_at", "pk")
    shown = [
        f"{fee_text(held)}, next on {time_in_words(held.next_fee_at)}"
        for held in licenses[: MAX_FEES + 1]
        if held.next_fee_at is not None
    ]
    if len(shown) > MAX_FEES:
        shown[MAX_FEES:] = ["and further ones"]
    return "; ".join(shown) or "none"
