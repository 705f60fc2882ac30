"""What a customer owes and will be charged, for the customer's page."""

from datetime import datetime

from analytics.ledger.due import book_due
from analytics.models import Payment, Statement
from analytics.payments.models import PaymentKind
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.units import ACCESS
from kit.values.currencies import in_full
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.figures.terms import fee
from operators.base.times.shown import time_in_words

MOST_FEES = 5  # shown, the nearest first


def money_of(requester: Requester, now: datetime) -> dict[str, str]:
    """Return what is owed, the last payment and the fees to come, as facts of the page."""
    book_due(requester.account_id)
    shown = {"Owes": owed(requester), "Last payment": last_payment(requester), "Fees to come": coming_fees(requester)}
    if requester.wallets:
        shown["Credit ends or is refilled"] = credit_end(requester, now)
    return shown


def owed(requester: Requester) -> str:
    """Return the closing balance of the latest statement in each currency."""
    latest: dict[str, Statement] = {}
    for statement in Statement.objects.filter(account=requester.account_id, requester=requester).order_by("month"):
        latest[statement.currency] = statement
    open_balances = [
        in_full(statement.closing, currency)
        for currency, statement in sorted(latest.items())
        if currency != ACCESS and statement.closing
    ]
    return ", ".join(open_balances) or "nothing"


def credit_end(requester: Requester, now: datetime) -> str:
    """Return when credit of the customer's wallets ends next, or is refilled."""
    wallets = Wallet.objects.filter(requester=requester)
    grants = Grant.objects.filter(wallet__in=wallets, ended_at__isnull=True, remaining__gt=0, expires_at__gt=now)
    refills = wallets.filter(next_refill_at__gt=now).values_list("next_refill_at", flat=True)
    ends = [moment for moment in [*refills, *grants.values_list("expires_at", flat=True)] if moment is not None]
    return f"on {time_in_words(min(ends))}" if ends else "never"


def last_payment(requester: Requester) -> str:
    payments = Payment.objects.filter(requester=requester, kind=PaymentKind.PAYMENT, voided_at__isnull=True)
    payment = payments.order_by("-received_at", "-pk").first()
    if payment is None:
        return "none"
    return f"{in_full(payment.amount, payment.currency)} on {time_in_words(payment.received_at)}"


def coming_fees(requester: Requester) -> str:
    """Return the next fee of each licence, the nearest first."""
    licenses = License.objects.filter(requester=requester, next_fee_at__isnull=False).order_by("next_fee_at", "pk")
    shown = [
        f"{fee(held)}, next on {time_in_words(held.next_fee_at)}"
        for held in licenses[: MOST_FEES + 1]
        if held.next_fee_at is not None
    ]
    if len(shown) > MOST_FEES:
        shown[MOST_FEES:] = ["and further ones"]
    return "; ".join(shown) or "none"
