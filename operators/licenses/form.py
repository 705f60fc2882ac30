"""The form of a licence."""

from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from django import forms

from accounts.models import Account
from licensing.licenses.models import FeeEvery, License
from licensing.licenses.serializers import LicenseSerializer
from licensing.requesters.models import Requester
from licensing.requesters.services import customers_named
from operators.base.fields import AmountField, CurrencyField, LinesField, Values
from operators.base.mixins import ServiceForm
from operators.base.times import LocalDateTimeField
from operators.base.typed_numbers import editable_amount
from operators.customers.quotas import QuotaFields

FEE = ("fee_amount", "fee_currency", "fee_every")
EITHER = "One per line. Without items, tags and policies it covers everything, on all sites."


class LicenseForm(QuotaFields, ServiceForm):
    serializer = LicenseSerializer
    api_names: ClassVar = {
        "requester_own_id": "requesterId",
        "price_amount": "price.amount",
        "price_currency": "price.currency",
        "access_amount": "pricePerAccess.amount",
        "access_currency": "pricePerAccess.currency",
        "fee_amount": "fee.amount",
        "fee_currency": "fee.currency",
        "fee_every": "fee.every",
        "quota": "refill.amount",
        "most_owed": "floor",
    }

    requester_own_id = forms.CharField(
        label="Customer",
        max_length=255,
        help_text="The customer's own id, as in checks. A new one is created.",
    )
    requester_name = forms.CharField(label="Customer's name", max_length=255, required=False)
    content_ids = LinesField(label="Items", help_text=f"Ids (cnt_…). {EITHER}")
    tags = LinesField(help_text=f"Items with one of these tags. {EITHER}")
    policy_ids = LinesField(
        label="Policies", help_text=f"Policy ids (pol_…): items with one of these policies. {EITHER}"
    )
    price_amount = AmountField(
        label="Price",
        required=False,
        help_text="On the statement of the month in which the licence is issued. Reports count it from its start.",
    )
    price_currency = CurrencyField(label="Currency of the price", required=False)
    access_amount = AmountField(
        label="Price per access", required=False, help_text="The price of each access that this licence allows."
    )
    access_currency = CurrencyField(label="Currency per access", required=False)

    fee_amount = AmountField(
        label="Recurring fee",
        required=False,
        help_text="Charged in advance at the start of each period, counted from the licence's start.",
    )
    fee_currency = CurrencyField(label="Currency of the fee", required=False)
    fee_every = forms.ChoiceField(
        label="Every",
        required=False,
        choices=[("", "–"), *FeeEvery.choices],
        help_text="A changed fee applies from the next period. Empty all three to end it.",
    )

    starts_at = LocalDateTimeField(label="Starts at", help_text="Empty: now.")
    expires_at = LocalDateTimeField(
        ends=True, label="Expires at", help_text="A date without a time includes that day. Empty: no end."
    )

    class Meta:
        model = License
        fields = ("account", "license_type")

    def get_initial_for_field(self, field: forms.Field, field_name: str) -> object:
        """Format amounts as the API does."""
        initial = super().get_initial_for_field(field, field_name)
        return editable_amount(initial) if isinstance(initial, Decimal) else initial

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        self.check_requester(cleaned.get("account"), cleaned.get("requester_own_id"), cleaned.get("requester_name"))
        self.drop_unused_currencies(cleaned)
        for price in ("price_amount", "price_currency"), ("access_amount", "access_currency"):
            missing = [name for name in price if cleaned.get(name) is None]
            if len(missing) == 1 and not self.errors.keys() & set(price):
                self.add_error(missing[0], "Enter both an amount and a currency.")
        missing = [name for name in FEE if not cleaned.get(name)]
        if 0 < len(missing) < len(FEE) and not self.errors.keys() & set(FEE):
            self.add_error(missing[0], "Enter the fee's amount, currency and period, or none of them.")
        start = cleaned.get("starts_at")
        if cleaned.get("expires_at") and start and cleaned["expires_at"] <= start:
            self.add_error("expires_at", "Must be later than the start.")
        self.check_quota(cleaned)
        return cleaned

    def drop_unused_currencies(self, cleaned: Values) -> None:
        """Drop currencies without an amount: the form of a new licence fills them in."""
        if not self.instance._state.adding:
            return
        for name in ("price", "access", "fee"):
            has_amount = cleaned.get(f"{name}_amount") is not None or f"{name}_amount" in self.errors
            if not has_amount:
                cleaned[f"{name}_currency"] = None

    def clean_starts_at(self) -> datetime | None:
        return self.cleaned_data["starts_at"] or self.instance.starts_at

    def clean_license_type(self) -> str:
        license_type: str = self.cleaned_data["license_type"]
        if "," in license_type:
            raise forms.ValidationError("A licence has one type. Issue a licence for each type.")
        return license_type

    def check_requester(self, account: Account | None, own_id: str | None, name: str | None) -> None:
        """Reject an id that is the name of an existing customer, unless a name shows that a new customer is meant.

        Reject a name that differs from the customer's, too, because a licence does not change it.
        """
        if account is None or not own_id:
            return
        if name:
            requester = Requester.objects.filter(account=account, requester_id=own_id).first()
            if requester is not None and requester.name not in (None, name):
                self.add_error(
                    "requester_name", f"This customer's name is {requester.name}. Change it on the customer's page."
                )
        elif namesakes := customers_named(account.pk, own_id):
            known_ids = " or ".join(customer.requester_id for customer in namesakes)
            self.add_error(
                "requester_own_id",
                f"{own_id} is the name of a customer. Enter the customer's id, {known_ids}; for a new customer whose "
                f"id is {own_id}, fill in the name too.",
            )
