"""What the form of a payment begins with, and what its confirmation warns of."""

from decimal import Decimal

from django.db.models import Case, F, Sum, When
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from analytics.models import BalanceChange, Payment
from analytics.payments.models import PaymentKind
from analytics.wallets.models import Wallet
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import ACCESS
from kit.values.amounts import TotalField
from kit.values.currencies import in_full, round_to_minor_unit
from licensing.requesters.models import Requester
from operators.base.scope import request_scope
from operators.base.typed_numbers import editable_amount
from operators.customers.balances import merged_balances, open_balances, sums_of

# The sum of payments, less payouts.
RECEIVED = Case(When(kind=PaymentKind.PAYOUT, then=-F("amount")), default=F("amount"), output_field=TotalField())
MEND_OF_OTHER_DEBT = (
    "A payment settles only what this customer owes in its currency: record what your bank credited, in the currency "
    "that is owed, for the customer that owes it."
)
CREDIT_LACKING = (
    "Credit stays {0} below 0. Once this is saved, add as much of it as was paid by Top up: paid, recorded already."
)
VOID_NUMBER = "That payment is void: enter another number, such as this one with -2."
LIST_FILTERS = "_changelist_filters"  # the parameter by which Django passes on a list's filters
MAX_DIGITS = 18  # of a customer's number there


def fraction_warnings(payment: Payment) -> list[str]:
    """Warn of an amount that no bank transfers."""
    if payment.amount == round_to_minor_unit(payment.amount, payment.currency):
        return []
    rounded = in_full(round_to_minor_unit(payment.amount, payment.currency), payment.currency)
    return [f"No bank transfers {in_full(payment.amount, payment.currency)}. Rounded it is {rounded}."]


def payment_warnings(payment: Payment, balance: Decimal) -> list[str]:
    """Warn of credit that stays below 0, of money owed only in another currency, and of a merged customer's debt.

    `balance` is what the tried payment leaves.
    """
    payer = payment.requester
    owed_before = balance + payment.amount
    if owed_before > 0:
        wallets = Wallet.objects.filter(requester=payer.current, unit=payment.currency)
        lacking = [-book.wallet.balance for book in as_of(wallets, timezone.now()) if book.wallet.balance < 0]
        return [CREDIT_LACKING.format(in_full(sum(lacking, Decimal(0)), payment.currency))] if lacking else []
    debts = [(payer, debt, code) for code, debt in open_balances(payer)] + merged_balances(payer)
    in_words = [f"{debtor} owes {in_full(debt, code)}" for debtor, debt, code in debts if debt > 0]
    if not in_words:
        return []
    return [f"Nothing was owed in {payment.currency}. {', '.join(in_words)}. {MEND_OF_OTHER_DEBT}"]


def payout_warnings(payout: Payment, balance: Decimal) -> list[str]:
    """Warn of a payout that exceeds what was paid, or paid in advance, and of credit that stays.

    `balance` is what the tried payout leaves.
    """
    warnings = []
    if balance > 0:
        warnings.append(
            f"This is {in_full(min(balance, payout.amount), payout.currency)} more than was paid in advance."
        )
    paid = Payment.objects.filter(requester=payout.requester, currency=payout.currency, grant=None)
    received = paid.aggregate(sum=Sum(RECEIVED))["sum"]
    if received < 0:
        unpaid = in_full(min(-received, payout.amount), payout.currency)
        warnings.append(f"{unpaid} of it were never paid: they are from refunds, such as for a gift of credit.")
    wallets = Wallet.objects.filter(requester=payout.requester.current, unit=payout.currency)
    credit = sum((book.wallet.balance for book in as_of(wallets, timezone.now())), Decimal(0))
    if credit > 0:
        left = in_full(credit, payout.currency)
        warnings.append(
            f"{left} of credit stay in its wallets. If you give back what was paid for it, void the grant."
        )
    return warnings


def payment_fields(requester: Requester, *, is_payout: bool = False) -> dict[str, str]:
    """Return initial values of a payment's form: the customer, and what it owes or, for a payout, paid in advance, if
    that is in one currency.

    If it is nothing, the currency is the only one with a balance, or ever charged, or the account's.
    """
    own = {"account": requester.account_id, "requester_own_id": requester.requester_id}
    changes = BalanceChange.objects.filter(account=requester.account_id, requester=requester)
    sums = dict(sums_of(changes).exclude(currency=ACCESS).values_list("currency", "debt"))
    due = {code: abs(debt) for code, debt in sums.items() if debt and (debt < 0) is is_payout}
    if len(due) > 1:
        return own
    for code, amount in due.items():
        return {**own, "amount": editable_amount(amount), "currency": code}
    used = [code for code, debt in sums.items() if debt] or list(sums)
    return {**own, "currency": used[0] if len(used) == 1 else requester.account.currency}


def customer_of_list(request: HttpRequest) -> Requester | None:
    """Return the customer by which the list was filtered that led to an add form."""
    number = QueryDict(request.GET.get(LIST_FILTERS, "")).get("requester__id__exact", "")
    if not number.isdecimal() or len(number) > MAX_DIGITS:
        return None
    return request_scope(request).narrow(Requester.objects.all()).filter(pk=number).first()
