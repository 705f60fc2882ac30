"""The form that voids a payment, and what its page says."""

from django import forms
from django.db.models import Sum
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analytics.models import Grant, Payment, Wallet
from analytics.payments.models import PaymentKind
from analytics.payments.services import moved_prepayment
from analytics.wallets.models import GrantKind
from analytics.wallets.units import in_units
from kit.values.currencies import in_full
from operators.base.fields import text_field
from operators.base.links import link_to

REFUND_STAYS = "{} of refunds stay as credit in {}, also if this payment had paid for them."


class VoidForm(forms.Form):
    reason = text_field("Reason", "Such as: typing error, returned by the bank. Statements show it.", max_length=500)


class VoidWithCreditForm(VoidForm):
    takes_back = forms.BooleanField(
        required=False,
        initial=True,
        label="Take back what is left of the credit",
        help_text="Credit that was spent stays spent.",
    )


def void_effects(payment: Payment, grant: Grant | None) -> list[str]:
    return [
        what_void_changes(payment),
        "Closed statements do not change.",
        "The payment stays in the list, with your reason. It cannot be made valid again.",
        *what_is_left(payment, grant),
        *refunded_credit(payment),
    ]


def what_is_left(payment: Payment, grant: Grant | None) -> list[str]:
    """Return what is left of the credit that a payment paid for, and whose it is after a merge."""
    if grant is None:
        return []
    credit = in_units(grant.remaining, grant.wallet.unit)
    holder = grant.wallet.requester
    left = f"{credit} are left of the credit that it paid for."
    if holder.pk == payment.requester_id:
        return [left]
    left = f"{left} {holder} has them since the merge."
    moved = None if payment.grant_id is not None else moved_prepayment(payment, payment.requester_id)
    if moved is None:
        return [left]
    _, amount = moved
    returned = in_full(min(amount, grant.remaining), payment.currency)
    return [
        f"{left} If you take them back, {returned} that the merge transferred with them go back to "
        f"{payment.requester}, too."
    ]


def what_void_changes(payment: Payment) -> str:
    if payment.grant_id is not None:
        return "It was paid for credit, so what is owed does not change."
    amount = in_full(payment.amount, payment.currency)
    if payment.is_transfer:
        return f"It is one half of a transfer of {amount} with credit. The other half is void, too."
    change = "less" if payment.kind == PaymentKind.PAYOUT else "more"
    return f"{payment.requester} owes {amount} {change} on this month's statement."


def refunded_credit(payment: Payment) -> list[SafeString]:
    """Say which refunds the wallets of the payment's customer still have: a void takes back none of them."""
    wallets = Wallet.objects.filter(requester=payment.requester.current, unit=payment.currency)
    refunds = Grant.objects.filter(wallet__in=wallets, kind=GrantKind.REFUND, ended_at=None, remaining__gt=0)
    sums = refunds.values_list("wallet").annotate(left=Sum("remaining"))
    return [
        format_html(REFUND_STAYS, in_full(left, payment.currency), link_to(wallets.get(pk=wallet), "its wallet"))
        for wallet, left in sums.order_by("wallet")
    ]
