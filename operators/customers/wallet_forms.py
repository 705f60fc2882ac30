"""Forms of wallets: opening one, topping up, and its terms."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

from django import forms

from analytics.wallets.models import RefillPeriod, Wallet
from analytics.wallets.units import ACCESS, UNITS
from kit.values.decimals import plain
from operators.base.fields import AmountField, Values, choice_field, text_field
from operators.base.mixins import ServiceForm

EVERY = [("", "never"), *((one.value, f"each {one.label.lower()}") for one in RefillPeriod)]
COMMON = [(ACCESS, "accesses"), ("USD", "USD"), ("EUR", "EUR"), ("GBP", "GBP")]
UNIT_CHOICES = [*COMMON, *((one, one) for one in UNITS if (one, one) not in COMMON and one != ACCESS)]


class Terms(forms.Form):
    """A wallet's editable terms."""

    refill_amount = AmountField(required=False, label="Refill", help_text="Amount added at the start of each period.")
    refill_every = choice_field("How often", EVERY, required=False)
    rollover_max = AmountField(
        required=False, label="Rolls over at most", help_text="Unused credit kept at the next refill. Empty: 0."
    )
    overdraft = AmountField(
        required=False,
        label="May go below 0 by",
        help_text="Amount that may be spent below 0 and billed later. Empty: 0.",
    )
    low_percent = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=99,
        label="Warn at (per cent)",
        help_text=(
            "The event wallet.low is sent when the balance falls to this percentage of the balance after the last "
            "top-up."
        ),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )


class WalletForm(Terms, ServiceForm):
    api_names: ClassVar = {
        "requester_own_id": "requesterId",
        "of_license": "licenseId",
        "own_unit": "unit",
        "overdraft": "floor",
        "refill_amount": "refill.amount",
        "refill_every": "refill.every",
    }

    requester_own_id = text_field("Customer", "The customer's own id.")
    of_license = text_field("Only for the licence", "lic_…; empty for all of its licences.", required=False)
    own_unit = choice_field("Counts", UNIT_CHOICES, "A quota of accesses, or money.")

    class Meta:
        model = Wallet
        fields = ("account",)


def initial_terms(wallet: Wallet) -> dict[str, object]:
    """Return a wallet's terms as the form's initial values."""
    percents = [one["percent"] for one in wallet.thresholds if "percent" in one]
    return {
        "refill_amount": wallet.refill_amount,
        "refill_every": wallet.refill_every or "",
        "rollover_max": wallet.rollover_max,
        "overdraft": -wallet.floor,
        "low_percent": percents[0] if percents else None,
    }


def terms_in_body(fields: Values, before: Wallet | None = None) -> dict[str, object]:
    """Return the form's terms as the API's fields. Fields not in the form stay unchanged."""
    percent, amount, every = fields.get("low_percent"), fields.get("refill_amount"), fields.get("refill_every")
    if before is not None and not every and amount == before.refill_amount:
        amount = None  # "never" was chosen beside the former amount
    refill: dict[str, object] | None = None
    if amount or every:
        most = fields.get("rollover_max") or Decimal(0)
        refill = {"every": every or "", "rollover": {"max": plain(most)}}
        if amount:
            refill["amount"] = plain(amount)
        if before is not None and before.rollover_min:
            refill["rollover"] = {"min": plain(min(before.rollover_min, most)), "max": plain(most)}
    return {
        "floor": plain(-(fields.get("overdraft") or Decimal(0))),
        "thresholds": thresholds_with([] if before is None else before.thresholds, percent),
        "refill": refill,
    }


def thresholds_with(thresholds: Sequence[Mapping[str, object]], percent: int | None) -> list[Mapping[str, object]]:
    """Replace the first threshold in per cent, which the form shows; the others stay."""
    place = next((place for place, one in enumerate(thresholds) if "percent" in one), len(thresholds))
    replaced = [{"percent": percent}] if percent else []
    return [*thresholds[:place], *replaced, *thresholds[place + 1 :]]
