"""Payments: the list, and a form that records one and tops up a wallet with it."""

from decimal import Decimal
from typing import ClassVar, TypedDict, cast

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.models import Account
from analytics.models import Payment, Wallet
from analytics.payments.serializers import PaymentSerializer
from analytics.payments.services import PaymentFields, record_payment
from analytics.wallets.services import add_grant
from kit.http.errors import ValidationFailed
from kit.rest.export import Row, columns_of
from kit.values.amounts import plain
from kit.values.currencies import in_full
from operators.base.empty_state import EmptyState
from operators.base.exporting import ListExport
from operators.base.fields import Amount, Currency, as_json, validate_fields
from operators.base.filters import ExactTextFilter, MomentFilter, RelatedFilter
from operators.base.forms.asking import AskingAdmin, Question
from operators.base.scope import request_scope
from operators.base.searching import find_by_id, of_requesters
from operators.base.suggesting import Kind, SuggestingAdmin
from operators.base.times.field import Moment
from operators.base.times.shown import shown_time


class PaymentForm(forms.ModelForm):
    requester_own_id = forms.CharField(
        max_length=255, label="Customer", help_text="The customer's own id.", widget=UnfoldAdminTextInputWidget
    )
    amount = Amount()
    currency = Currency()
    tops_up = forms.BooleanField(
        required=False,
        label="Top up the wallet",
        help_text="Adds the amount to the wallet of the customer, or of its licence, in this currency.",
    )

    received_at = Moment(label="Received", help_text="Default: now.")

    class Meta:
        model = Payment
        fields = ("account", "external_id", "note")
        labels = {"external_id": "Your own number"}
        help_texts = {
            "external_id": "Number of the invoice or transfer. The same number is recorded only once.",
            "note": "Internal note. Do not enter unnecessary personal data.",
        }

    def _post_clean(self) -> None:
        """Skip model validation; the service validates."""


class FormFields(TypedDict, total=False):
    id: str
    account: Account
    requester_own_id: str
    amount: Decimal
    currency: str
    received_at: object
    external_id: str | None
    note: str | None
    tops_up: bool


@admin.register(Payment)
class PaymentAdmin(SuggestingAdmin[Payment], ListExport[Payment], AskingAdmin[Payment, FormFields]):
    empty_state = EmptyState("A payment is money that a customer paid you. Statements show what they still owe.")
    list_display = ("received", "requester", "sum", "external_id", "recorded", "account")
    list_select_related = ("account", "requester")
    row_name = "sum"
    row_facts = {"requester": "", "received": ""}
    list_filter = (
        ("currency", ExactTextFilter),
        ("received_at", MomentFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
    )
    search_fields = ("pk",)
    search_help_text = "A full pay_ id, or the start of a customer's id or name."
    actions_list = ("export_items",)
    export_name = "payments"
    export_columns = tuple(columns_of(PaymentSerializer))
    form = PaymentForm
    optional = frozenset({"external_id", "note"})
    add_fieldsets = (
        (None, {"fields": ("account", "requester_own_id", "amount", "currency", "tops_up")}),
        ("The transfer", {"fields": ("received_at", "external_id", "note")}),
    )
    fields = readonly = ("identifier", "account", "requester", "sum", "received", "external_id", "note", "recorded")
    autocomplete_fields = ("account",)
    suggested: ClassVar = {"requester_own_id": Kind.REQUESTER}
    api_names = {"requesterId": "requester_own_id", "walletId": "tops_up"}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Payment], search_term: str
    ) -> tuple[QuerySet[Payment], bool]:
        term = search_term.strip()
        if not term or term.startswith("pay_"):
            return find_by_id(queryset, "pay", term) if term else queryset, False
        return of_requesters(queryset, request_scope(request), term), False

    def export_queryset(self, queryset: QuerySet[Payment]) -> QuerySet[Payment]:
        return queryset.select_related(None).select_related("requester")

    def export_rows(self, rows: list[Payment]) -> list[Row]:
        serializer = PaymentSerializer()
        return [serializer.to_representation(one) for one in rows]

    def get_readonly_fields(self, request: HttpRequest, obj: Payment | None = None) -> tuple[str, ...]:
        return self.readonly if obj else ()

    def create(self, request: HttpRequest, fields: FormFields) -> Payment:
        body = {
            "requesterId": fields["requester_own_id"],
            "amount": plain(fields["amount"]),
            "currency": fields["currency"],
            "receivedAt": as_json(fields["received_at"]) if fields.get("received_at") else None,
            "externalId": fields.get("external_id") or None,
            "note": fields.get("note") or None,
        }
        checked = validate_fields(PaymentSerializer(), body)
        payment, is_new = record_payment(fields["account"].pk, cast(PaymentFields, {**checked, "id": fields["id"]}))
        if not is_new:
            raise ValidationFailed("This number was recorded before.", param="externalId")
        if fields.get("tops_up"):
            grant_payment(payment)
        return payment

    def question(self, request: HttpRequest, before: Payment | None, saved: Payment) -> Question:
        return Question(
            title=f"Record {self.sum(saved)} from {saved.requester}?",
            facts=[("Account", str(saved.account)), ("Received", self.received(saved))],
            effects=[
                *([f"The wallet is topped up by {self.sum(saved)}."] if request.POST.get("tops_up") else []),
                "This month's statement shows it. Revenue does not change, because it counts charges.",
                "A recorded payment cannot be changed.",
            ],
            button="Record it",
        )

    @display(description="Amount", ordering="amount")
    def sum(self, payment: Payment) -> str:
        return in_full(payment.amount, payment.currency)

    @display(description="Received", ordering="received_at")
    def received(self, payment: Payment) -> str:
        return shown_time(payment.received_at)

    @display(description="Recorded", ordering="created")
    def recorded(self, payment: Payment) -> str:
        return shown_time(payment.created)


def grant_payment(payment: Payment) -> None:
    """Grant the paid amount to the wallet that it tops up."""
    add_grant(
        wallet_to_top_up(payment),
        {"amount": payment.amount, "kind": "paid", "external_id": payment.external_id or payment.pk},
    )


def wallet_to_top_up(payment: Payment) -> Wallet:
    """Return the customer's wallet in the payment's currency, or else the only one of its active licences.

    Raises ValidationFailed.
    """
    rows = Wallet.objects.filter(account=payment.account_id, requester=payment.requester, unit=payment.currency)
    wallets = list(rows.select_related("license").order_by("created", "pk"))
    now = timezone.now()
    own = [wallet for wallet in wallets if wallet.license is None]
    of_licenses = [wallet for wallet in wallets if wallet.license and wallet.license.state(now) == "active"]
    found = own or of_licenses
    if not found:
        raise ValidationFailed(f"{payment.requester} has no wallet in {payment.currency}.", param="walletId")
    if len(found) > 1:
        raise ValidationFailed(
            f"{len(found)} licences of {payment.requester} have a wallet in {payment.currency}. Record the payment "
            "without topping up, and top up the wallet on its own page.",
            param="walletId",
        )
    return found[0]
