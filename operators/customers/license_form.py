"""The form of a licence, and what it says as a body of the API, whose rules it is then held to."""

from collections.abc import Mapping
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminTextInputWidget

from kit.http.parsing import check_values
from kit.values.amounts import plain
from licensing.licenses.models import License
from licensing.licenses.serializers import LicenseSerializer
from operators.base.fields import Amount, Currency, Lines, as_told

NAMES = {
    "requester_own_id": "requesterId",
    "requester_name": "requesterName",
    "license_type": "licenseType",
    "content_ids": "contentIds",
    "tags": "tags",
    "policy_ids": "policyIds",
    "starts_at": "startsAt",
    "expires_at": "expiresAt",
}
MONEY = {"price": "price", "access": "pricePerAccess"}
EITHER = "One on each line. Without items, tags and policies it covers everything."


class LicenseForm(forms.ModelForm):
    """What an operator says of a licence."""

    requester_own_id = forms.CharField(
        label="Requester",
        max_length=255,
        widget=UnfoldAdminTextInputWidget,
        help_text="The requester's own id, as in checks. Somebody new comes into being by it.",
    )
    requester_name = forms.CharField(
        label="Requester's name", max_length=255, required=False, widget=UnfoldAdminTextInputWidget
    )
    content_ids = Lines(label="Items", help_text=f"Ids (cnt_…). {EITHER}")
    tags = Lines(help_text=f"Items that have one of these. {EITHER}")
    policy_ids = Lines(label="Policies", help_text=f"Ids (pol_…): items under one of these. {EITHER}")
    price_amount = Amount(label="Price", required=False, help_text="Enters the ledger at the start.")
    price_currency = Currency(label="Currency of the price", required=False)
    access_amount = Amount(
        label="Price per access", required=False, help_text="What each check costs that this licence allows."
    )
    access_currency = Currency(label="Currency per access", required=False)

    class Meta:
        model = License
        fields = "__all__"  # noqa: DJ007 - the admin names them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "starts_at" in self.fields:
            self.fields["starts_at"].required = False
            self.fields["starts_at"].help_text = "UTC. Now, unless given."
            self.fields["expires_at"].help_text = "UTC. Without one it never ends."
        for name in self.fields.keys() & {"price_amount", "access_amount"}:
            amount = getattr(self.instance, name)
            self.initial[name] = None if amount is None else plain(amount)

    def clean(self) -> Any:
        cleaned = super().clean() or self.cleaned_data
        for name in MONEY:
            amount, currency = (cleaned.get(f"{name}_{part}") for part in ("amount", "currency"))
            if (amount is None) != (currency is None):
                missing = "amount" if amount is None else "currency"
                self.add_error(f"{name}_{missing}", "An amount and its currency go together.")
        start = cleaned.get("starts_at") or getattr(self.instance, "starts_at", None)
        if cleaned.get("expires_at") and start and cleaned["expires_at"] <= start:
            self.add_error("expires_at", "Must be later than the start.")
        return cleaned

    def _post_clean(self) -> None:
        """Nothing: what the model would say, the API's own rules say."""


def license_fields(form: Mapping[str, Any], cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """What a service takes. `form` has what was given or changed, `cleaned` everything: money comes in pairs.

    Raises ApiError, and a serializer's ValidationError.
    """
    body = {NAMES[name]: as_told(value) for name, value in form.items() if name in NAMES}
    for name, told in MONEY.items():
        if form.keys() & {f"{name}_amount", f"{name}_currency"}:
            amount = cleaned.get(f"{name}_amount")
            money = {"amount": plain(amount), "currency": cleaned[f"{name}_currency"]} if amount is not None else None
            body[told] = money
    check_values(body, "", 0)
    fields: dict[str, Any] = LicenseSerializer(partial=True).run_validation(body)
    return fields
