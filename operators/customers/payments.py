"""Payments: the list, a form that records one, and a button that voids it."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from unfold.decorators import action, display

from accounts.plans import epochs
from analytics.models import Payment
from analytics.payments.models import PaymentKind
from analytics.payments.serializers import PaymentSerializer
from analytics.payments.services import credit_paid_by, record_payment, return_prepayment, void_payment
from analytics.wallets.services import void_grant
from kit.values.currencies import in_full
from operators.base.exporting import ListExport
from operators.base.fields import AmountField, CurrencyField, Values, choice_field, text_field
from operators.base.figures.recent import filled_in
from operators.base.filters import BookedInFilter, LocalDateTimeFilter, OptionsFilter, RelatedFilter, UnitFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.forms.confirmed_form import ConfirmedFormAdmin, FormConfirmation
from operators.base.links import change_url
from operators.base.lists.change_list import BoundedChangeList
from operators.base.lists.columns import column, external_id_of, time_column
from operators.base.lists.totals import TotalledList, sums_in_words
from operators.base.mixins import ServiceForm
from operators.base.pages import EmptyState
from operators.base.rights import right
from operators.base.searching import CustomerSearch
from operators.base.suggesting import SuggestingAdmin, SuggestionKind
from operators.base.times import LocalDateTimeField, shown_time
from operators.base.typed_numbers import editable_amount
from operators.customers.balances import balance_afterwards, balance_in
from operators.customers.double_bookings import booking_in_words, check_promise, latest_change
from operators.customers.payment_help import (
    LIST_FILTERS,
    RECEIVED,
    VOID_NUMBER,
    customer_of_list,
    fraction_warnings,
    payment_fields,
    payment_warnings,
    payout_warnings,
)
from operators.customers.void_form import VoidForm, VoidWithCreditForm, void_effects

KINDS = [(PaymentKind.PAYMENT.value, "a payment: the customer paid"), (PaymentKind.PAYOUT.value, "a payout: you paid")]

CORRECTED = "corrected"  # the parameter that names the void payment whose fields the form has


def corrected_fields(payment: Payment) -> dict[str, object]:
    """Return initial values of a payment's form, without its number, which the void payment keeps."""
    return {
        "account": payment.account_id,
        "requester_own_id": payment.requester.requester_id,
        "kind": payment.kind,
        "amount": editable_amount(payment.amount),
        "currency": payment.currency,
        "received_at": payment.received_at,
    }


class PaymentForm(ServiceForm):
    serializer = PaymentSerializer
    api_names: ClassVar = {"requester_own_id": "requesterId"}

    requester_own_id = text_field("Customer", "The customer's own id.")
    kind = choice_field("It is", KINDS, initial=PaymentKind.PAYMENT.value)
    amount = AmountField(help_text="A positive amount, also for a payout.")
    currency = CurrencyField()
    received_at = LocalDateTimeField(label="Received", help_text="Default: now.")

    class Meta:
        model = Payment
        fields = ("account", "external_id", "note")
        labels = {"external_id": "Your own number"}
        help_texts = {
            "external_id": "Number of the invoice or transfer. The same number is recorded only once.",
            "note": "Internal note. Do not enter unnecessary personal data.",
        }

    def clean(self) -> None:
        """Explain what to do instead of entering a negative amount."""
        super().clean()
        amount = self.cleaned_data.get("amount")
        if amount is not None and amount <= 0:
            self.add_error(
                "amount",
                "Enter a positive amount. For money that you gave back, choose a payout. To correct one, void it.",
            )


class PaymentKindFilter(OptionsFilter[Payment]):
    title = "kind"
    parameter_name = "kind"
    options = {"payment": "payments", "credit": "payments for credit", "payout": "payouts", "void": "void ones"}

    def apply_option(self, queryset: QuerySet[Payment], value: str) -> QuerySet[Payment]:
        if value == "void":
            return queryset.filter(voided_at__isnull=False)
        if value == "credit":
            return queryset.filter(grant__isnull=False, voided_at=None)
        return queryset.filter(kind=value, voided_at=None)


@admin.register(Payment)
class PaymentAdmin(
    TotalledList[Payment],
    CustomerSearch[Payment],
    SuggestingAdmin[Payment],
    ListExport[Payment],
    ConfirmedFormAdmin[Payment],
):
    empty_state = EmptyState("A payment is money that a customer paid you. Statements show what they still owe.")
    list_display = ("received", "requester", "sum", "state", "own_number", "recorded", "account")
    list_select_related = ("account", "requester")
    phone_row_title = "sum"
    phone_row_columns = {"requester": "", "received": "", "state": ""}
    list_filter = (
        PaymentKindFilter,
        ("currency", UnitFilter),
        ("received_at", LocalDateTimeFilter),
        BookedInFilter,
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
    )
    search_help_text = "A full pay_ id, your own number, or the start of a customer's id or name."
    has_own_numbers = True
    total_of = "payments, less payouts and without void ones"
    actions_list = ("payout", "export_items")
    actions_detail = ("void", "record_correctly")
    export_name = "payments"
    filtered_actions = ("/export/", "/payout/")
    export_serializer = PaymentSerializer
    export_related = ("requester",)
    form = PaymentForm
    optional = frozenset({"external_id", "note"})
    add_fieldsets = (
        (None, {"fields": ("account", "requester_own_id", "kind", "amount", "currency")}),
        ("The transfer", {"fields": ("received_at", "external_id", "note")}),
    )
    fields = readonly = (
        "identifier", "account", "requester", "state", "sum", "received", "own_number", "note", "paid_for",
        "recorded", "voided",
    )  # fmt: skip
    received = time_column("Received", "received_at")
    recorded = time_column("Recorded", "created")
    own_number = column("Your own number", external_id_of)
    autocomplete_fields = ("account",)
    suggested: ClassVar = {"requester_own_id": SuggestionKind.REQUESTER}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Payment]:
        """Return payments without their voids, which are shown with them."""
        return super().get_queryset(request).filter(reverses=None)

    def totals(self, changelist: BoundedChangeList) -> list[str]:
        return sums_in_words(changelist.queryset.filter(voided_at=None), RECEIVED)

    def create(self, request: HttpRequest, fields: Values) -> Payment:
        payment, is_new = record_payment(fields.pop("account").pk, fields)
        if not is_new:
            is_void = payment.voided_at is not None
            mend = f" {VOID_NUMBER}" if is_void else ""
            known = format_html("This number was recorded before: {}.{}", booking_in_words(payment), mend)
            raise ValidationError({"external_id": known})
        check_promise(request, payment.requester, payment.currency, payment.created)
        return payment

    def confirmation(self, request: HttpRequest, before: Payment | None, saved: Payment) -> FormConfirmation:
        is_payout = saved.kind == PaymentKind.PAYOUT
        amount = in_full(saved.amount, saved.currency)
        balance = balance_in(saved.requester, saved.currency)
        warnings = payout_warnings(saved, balance) if is_payout else payment_warnings(saved, balance)
        return FormConfirmation(
            title=f"Record {amount} {'paid out to' if is_payout else 'from'} {saved.requester}?",
            facts=[("Account", str(saved.account)), ("Received", shown_time(saved.received_at))],
            effects=[
                f"{saved.requester} owes {amount} {'more' if is_payout else 'less'} on this month's statement.",
                balance_afterwards(balance, saved.currency),
                "Revenue does not change, because it counts charges. No credit is added: Top up does both.",
                "A recorded payment cannot be changed, but it can be voided.",
            ],
            button="Record it",
            warnings=[*fraction_warnings(saved), *warnings],
            promised_at=saved.created,
        )

    @action(description="Record payout", icon="undo", permissions=["add"], url_path="payout")
    def payout(self, request: HttpRequest) -> HttpResponse:
        fields = {"kind": PaymentKind.PAYOUT.value, LIST_FILTERS: request.GET.urlencode()}
        return redirect(f"{reverse('admin:analytics_payment_add')}?{urlencode(fields)}")

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Fill in the payment to correct, or the customer whose payments were listed."""
        if CORRECTED in request.GET:
            return corrected_fields(self.require_object(request, request.GET[CORRECTED]))
        initial = super().get_changeform_initial_data(request)
        customer = customer_of_list(request)
        if customer is None:
            return initial
        return {**payment_fields(customer, is_payout=initial.get("kind") == PaymentKind.PAYOUT), **initial}

    def hidden_actions(self, payment: Payment) -> list[str]:
        if payment.voided_at is None:
            return ["record_correctly"]
        return ["void", "record_correctly"] if payment.is_transfer or payment.grant_id else ["void"]

    @action(description="Record it correctly", icon="payments", permissions=["voiding"], url_path="record-correctly")
    def record_correctly(self, request: HttpRequest, object_id: str) -> HttpResponse:
        payment = self.require_object(request, object_id)
        return filled_in("admin:analytics_payment_add", payment, {CORRECTED: str(payment.pk)})

    has_voiding_permission = right("analytics.add_payment")

    @confirmed_action("Void", "block", "void", permission="voiding")
    def void(self, request: HttpRequest, payment: Payment) -> Confirmation | HttpResponse:
        if payment.voided_at is not None:
            known = format_html("It is void already: {}.", booking_in_words(payment))
            self.message_user(request, known, messages.WARNING)
            return redirect(change_url(payment))
        amount = in_full(payment.amount, payment.currency)
        grant = credit_paid_by(payment)

        @transaction.atomic
        def perform(fields: Values) -> str:
            epochs.lock_epoch(payment.account_id)  # before the wallet, as merges do
            void_payment(payment, fields["reason"])
            if grant is None or not fields.get("takes_back"):
                return f"The {payment.kind} of {amount} is void."
            void_grant(grant.wallet, grant.pk)
            if payment.grant_id is None:
                return_prepayment(payment, grant.remaining)
            return f"The {payment.kind} of {amount} is void, and what was left of its credit is taken back."

        return Confirmation(
            title=f"Void the {payment.kind} of {amount}",
            facts=[("Customer", str(payment.requester)), ("Recorded", shown_time(payment.created))],
            effects=void_effects(payment, grant),
            button="Void it",
            form=VoidForm if grant is None else VoidWithCreditForm,
            initial={"takes_back": True},
            perform=perform,
        )

    @display(description="Amount", ordering="amount")
    def sum(self, payment: Payment) -> str:
        return in_full(-payment.amount if payment.kind == PaymentKind.PAYOUT else payment.amount, payment.currency)

    @display(
        description="Kind", label={"void": "danger", "payout": "warning", "payment": "info", "transfer": "default"}
    )
    def state(self, payment: Payment) -> str | tuple[str, str]:
        if payment.voided_at is not None:
            return "void", f"void {payment.kind}"
        if payment.grant_id is not None:
            return "payment", "payment for credit"
        return "transfer" if payment.is_transfer else str(payment.kind)

    @display(description="Voided", empty_value="no")
    def voided(self, payment: Payment) -> str | None:
        if payment.voided_at is None:
            return None
        return format_html("{}: {}", latest_change(payment), payment.void_reason or "no reason left")

    @display(description="Paid for", empty_value="charges")
    def paid_for(self, payment: Payment) -> str | None:
        return None if payment.grant is None else f"credit: {payment.grant}"
