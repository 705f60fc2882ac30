"""The form of an adjustment, and what its confirmation says."""

from decimal import Decimal
from typing import ClassVar

from django import forms
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analytics.ledger.refunds import KINDS, Charge, refunds_of
from analytics.ledger.serializers import AdjustmentSerializer
from analytics.models import Grant, LedgerEntry, WalletEntry
from kit.values import ids
from kit.values.currencies import in_full
from operators.base.fields import AmountField, CurrencyField, text_field
from operators.base.links import link_to
from operators.base.mixins import ServiceForm
from operators.base.times import LocalDateTimeField, time_in_words
from operators.customers.balances import balance_afterwards, balance_in, merged_balances
from operators.customers.refund_button import RefundableCharge


class AdjustmentForm(ServiceForm):
    serializer = AdjustmentSerializer
    api_names: ClassVar = {
        "of_fee": "feeId",
        "of_license": "licenseId",
        "of_decision": "decisionId",
        "of_content": "contentId",
        "of_requester": "requesterId",
    }

    is_refund = forms.BooleanField(required=False, widget=forms.HiddenInput)
    amount = AmountField(help_text="Negative to give back. To refund a charge, use its button Refund.")
    currency = CurrencyField()
    description = text_field("Reason", "It stays in the ledger.", max_length=500)
    of_fee = text_field(
        "Fee or charge", "led_…, if it refunds a fee or a charge of your own. Implies its customer.", required=False
    )
    of_decision = text_field(
        "Decision", "dec_…, if it is about one. Implies its licence, item and customer.", required=False
    )
    of_license = text_field("Licence", "lic_…, if it is about one. Implies its customer.", required=False)
    of_requester = text_field("Customer", "The customer's own id.", required=False)
    of_content = text_field("Item", "cnt_…", required=False)

    occurred_at = LocalDateTimeField(
        label="Occurred at", help_text="Reports count it on its day in the account's time zone. Empty: now."
    )

    class Meta:
        model = LedgerEntry
        fields = ("account", "external_id", "license_type")
        labels = {"external_id": "Your own number"}
        help_texts = {
            "external_id": "Such as the number of a credit note. The same number is booked only once.",
            "license_type": "Reports count it under this licence type.",
        }

    def refundable_charge(self) -> RefundableCharge | None:
        """Return the charge that the form refers to, as far as it is filled in."""
        account_id, currency = (str(self[name].value() or "") for name in ("account", "currency"))
        named = {kind: str(self[f"of_{kind}"].value() or "") for kind in KINDS}
        kind = next((kind for kind, id in named.items() if id), "license")
        charge = Charge(kind, named[kind])
        is_named = ids.decode("acc", account_id) and ids.decode(KINDS[charge.kind].prefix, charge.id)
        return RefundableCharge(account_id, charge, currency) if is_named else None

    def clean(self) -> None:
        """Accept only positive amounts for a refund, which is booked as a negative one."""
        super().clean()
        cleaned = self.cleaned_data
        amount = cleaned.get("amount")
        if cleaned.get("is_refund") and amount is not None and amount <= 0:
            self.add_error("amount", "Enter what to give back as a positive amount: 50 refunds 50.")
        elif cleaned.get("is_refund") and amount is not None:
            cleaned["amount"] = -amount

    def explain_refund(self) -> None:
        """Label the amount of a refund, or say what is left of the charge for other adjustments."""
        charged = self.refundable_charge()
        left = "" if charged is None else f"{charged.in_words()}."
        amount = self["amount"]  # not the field: once validated, the form shows the texts that this one has copied
        if self["is_refund"].value():
            amount.label = "Amount to refund"
            amount.help_text = f"What the customer gets back, as a positive amount. {left}"
        elif left:
            amount.help_text = f"{amount.help_text} {left}"


def adjustment_title(saved: LedgerEntry, *, is_refund: bool) -> str:
    amount = in_full(saved.amount, saved.currency)
    return f"Refund {in_full(-saved.amount, saved.currency)}?" if is_refund else f"Book {amount}?"


def owed_in_words(saved: LedgerEntry) -> list[str]:
    """Say what a charge or a refund does to the customer's statement, which counts it when it is booked."""
    if saved.requester is None:
        return []
    return [
        statement_in_words(saved, saved.amount),
        balance_afterwards(balance_in(saved.requester, saved.currency), saved.currency),
    ]


def statement_in_words(saved: LedgerEntry, amount: Decimal) -> str:
    """Say what an amount that is booked with the entry does to the customer's statement."""
    change = "more" if amount > 0 else "less"
    month = f"{saved.account.months.month_of(saved.created):%Y-%m}"
    return f"{saved.requester} owes {in_full(abs(amount), saved.currency)} {change} on the statement of {month}."


def debts_of_merged_ones(saved: LedgerEntry) -> list[SafeString]:
    """Warn that a refund does not lower what customers owe that were merged into the one that gets it."""
    if saved.requester is None:
        return []
    debts = [(one, debt) for one, debt, code in merged_balances(saved.requester) if code == saved.currency]
    return [
        format_html(
            "{} still owes {}, which this does not lower. To cancel that bill, charge it a negative amount instead.",
            link_to(one),
            in_full(debt, saved.currency),
        )
        for one, debt in debts
        if debt > 0
    ]


def earlier_refunds(charged: RefundableCharge, saved: LedgerEntry) -> list[str]:
    """Warn of refunds of the charge that are booked already: this one may be booked twice."""
    booked = refunds_of(charged.account_id, charged.charge).filter(currency=charged.currency).exclude(pk=saved.pk)
    latest = booked.order_by("-created", "-pk").first()
    if latest is None:
        return []
    amount = in_full(-latest.amount, latest.currency)
    return [f"{amount} of this charge was refunded already on {time_in_words(latest.created)}."]


def returned_credit(saved: LedgerEntry) -> list[SafeString]:
    """Warn of credit that refunds of the decision returned to a wallet: undoing one does not take it back."""
    if saved.amount < 0 or saved.decision_id is None:
        return []
    entries = WalletEntry.objects.filter(decision=saved.decision_id, type="refund", wallet__unit=saved.currency)
    refunds = Grant.objects.filter(pk__in=entries.values("grant"), ended_at=None, remaining__gt=0)
    return [
        format_html(
            "{} that a refund of this access returned stay as credit in {}. To undo that, use Take back there.",
            in_full(grant.remaining, saved.currency),
            link_to(grant.wallet, "its wallet"),
        )
        for grant in refunds.select_related("wallet").order_by("pk")
    ]


def was_prepaid(saved: LedgerEntry) -> bool:
    """Whether the entry refunds a decision that a wallet in its currency paid."""
    if saved.amount > 0 or saved.decision_id is None:
        return False
    return WalletEntry.objects.filter(decision=saved.decision_id, type="spend", wallet__unit=saved.currency).exists()
