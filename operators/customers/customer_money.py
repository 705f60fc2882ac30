"""What a customer owes and will be charged, for the customer's page."""

from datetime import datetime
from decimal import Decimal

from django.db.models import F, QuerySet, Window
from django.db.models.functions import RowNumber

from analytics.ledger.due import book_due
from analytics.models import Payment, Statement
from analytics.payments.models import PaymentKind
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.units import ACCESS
from kit.values.amounts import plain
from kit.values.currencies import in_full
from licensing.licenses.models import License, LicenseStatus
from licensing.requesters.models import Requester
from operators.base.figures.terms import fee
from operators.base.times import time_in_words

MOST_FEES = 5  # shown, the nearest first


def money_facts(requester: Requester, now: datetime) -> dict[str, str]:
    """Return what is owed, the last payment and the fees to come, as facts of the page."""
    book_due(requester.account_id)
    shown = {"Owes": owed(requester), "Last payment": last_payment(requester), "Fees to come": coming_fees(requester)}
    if requester.wallets:
        shown["Credit ends or is refilled"] = credit_end(requester, now)
    return shown


def latest_statements(statements: QuerySet[Statement]) -> QuerySet[Statement]:
    """Return the latest statement of each customer and currency."""
    newest_first = Window(RowNumber(), partition_by=["requester", "currency"], order_by=F("month").desc())
    in_money = statements.exclude(currency=ACCESS)
    return in_money.annotate(place=newest_first).filter(place=1)


def open_balances(requester: Requester) -> list[tuple[str, Decimal]]:
    """Return the closing balance of the latest statement in each currency, where it is not 0."""
    statements = Statement.objects.filter(account=requester.account_id, requester=requester)
    latest = latest_statements(statements).exclude(closing=0)
    return list(latest.order_by("currency").values_list("currency", "closing"))


def owed(requester: Requester) -> str:
    return ", ".join(balance_in_words(closing, code) for code, closing in open_balances(requester)) or "nothing"


def balance_in_words(closing: Decimal, currency: str) -> str:
    """Return what is owed, or what was paid in advance if the balance is negative."""
    if closing < 0:
        return f"{in_full(-closing, currency)} paid in advance"
    return in_full(closing, currency)


def owed_fields(requester: Requester) -> dict[str, str]:
    """Return what is owed as initial values of a payment's form, if it is owed in one currency."""
    debts = [(code, closing) for code, closing in open_balances(requester) if closing > 0]
    if len(debts) != 1:
        return {}
    [(code, closing)] = debts
    return {"amount": plain(closing), "currency": code}


def obligations(requester: Requester, now: datetime) -> list[tuple[str, str]]:
    """Return the open balance and the number of running licences, without those that there are not."""
    running = License.objects.filter(requester=requester, status=LicenseStatus.ACTIVE)
    running_count = running.exclude(expires_at__lte=now).count()
    balance = owed(requester) if open_balances(requester) else ""
    facts = [("Owes", balance), ("Running licences", f"{running_count:,}" if running_count else "")]
    return [(name, value) for name, value in facts if value]


def credit_end(requester: Requester, now: datetime) -> str:
    """Return when credit of the customer's wallets ends next, or is refilled."""
    wallets = Wallet.objects.filter(requester=requester)
    grants = Grant.objects.filter(wallet__in=wallets, ended_at__isnull=True, remaining__gt=0, expires_at__gt=now)
    refills = wallets.filter(next_refill_at__gt=now).values_list("next_refill_at", flat=True)
    ends = [moment for moment in [*refills, *grants.values_list("expires_at", flat=True)] if moment is not None]
    return f"on {time_in_words(min(ends))}" if ends else "never"


def last_payment(requester: Requester) -> str:
    payments = Payment.objects.filter(requester=requester, kind=PaymentKind.PAYMENT, reverses=None, void=None)
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
