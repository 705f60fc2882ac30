"""Serializers of licences."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from kit.rest.bulk import ALONE, STATUSES, ErrorShown, IndexedSerializer, RowsField
from kit.rest.fields import Choice, ExternalId, Id, Text, Texts, Timestamp
from kit.rest.metadata import FreeMetadata
from kit.rest.money import Amount, Currency, Money
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.decimals import render_amount
from kit.values.json_values import Rendered
from licensing.licenses.models import FeeEvery, License

STATES = ["active", "expired", "revoked"]
MAX_CONTENT_IDS = 1000
MAX_POLICY_IDS = 100
MAX_TAGS = 50


class FeeSerializer(StrictSerializer):
    """A recurring fee, charged at the start of each period."""

    example = {"amount": 50, "currency": "EUR", "every": "month"}

    amount = Amount(more_than=0)
    currency = Currency(help_text="ISO 4217.")
    every = Choice(choices=FeeEvery.choices, help_text="The period, counted from `startsAt`.")

    @staticmethod
    def render_money(amount: Decimal | None, currency: str | None, every: str | None) -> dict[str, object] | None:
        """Return the API's object for a fee, or None for None."""
        if amount is None:
            return None
        return {"amount": render_amount(amount), "currency": currency, "every": every}


class LicenseSerializer(RowSerializer):
    """A licence: its type, scope, period and prices."""

    id = Id("lic", read_only=True)
    object = Choice(choices=["license"], read_only=True)
    requesterId = Text(max_length=255, source="requester_id", help_text="The caller's own id. It stays.")
    requesterName = Text(
        max_length=255,
        required=False,
        allow_null=True,
        source="requester_name",
        help_text="The requester's name. Given here, it names a requester that has none, and changes no name.",
    )
    externalId = ExternalId("The licence's id in your own system. Unique within the account.")
    licenseType = Text(max_length=100, source="license_type", help_text="Compared by the condition `licenseType`.")
    contentIds = Texts(
        max_items=MAX_CONTENT_IDS,
        max_length=100,
        ids="cnt",
        required=False,
        source="content_ids",
        help_text="The items that it covers. Without contentIds, tags and policyIds it covers all.",
    )
    tags = Texts(
        max_items=MAX_TAGS,
        max_length=100,
        required=False,
        help_text="It also covers items that have one of these tags,",
    )
    policyIds = Texts(
        max_items=MAX_POLICY_IDS,
        max_length=100,
        ids="pol",
        required=False,
        source="policy_ids",
        help_text="and items under one of these policies.",
    )
    startsAt = Timestamp(required=False, source="starts_at", help_text="Default: `created`. Years 2000 to 2999.")
    expiresAt = Timestamp(required=False, allow_null=True, source="expires_at")
    price = Money(
        required=False,
        allow_null=True,
        help_text="Recorded in the ledger when the licence is issued, dated `startsAt`.",
    )
    pricePerAccess = Money(
        required=False,
        allow_null=True,
        source="price_per_access",
        help_text="The price of each access that this licence allows.",
    )
    fee = FeeSerializer(
        required=False,
        allow_null=True,
        help_text="A recurring fee, charged in advance at the start of each period from `startsAt` until the licence "
        "ends. A change applies from the next period; null ends it.",
    )
    nextFeeAt = Timestamp(read_only=True, allow_null=True, help_text="When the next fee is charged. Null: never.")
    metadata = FreeMetadata(required=False, allow_null=True)
    status = Choice(
        choices=STATES, read_only=True, help_text="Read-only. Revoke with `POST /v1/licenses/{id}/revoke`."
    )
    revokedAt = Timestamp(read_only=True, allow_null=True)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    cleared = {"contentIds": [], "tags": [], "policyIds": [], "startsAt": None}
    beside_state = frozenset({"status", "nextFeeAt"})  # these change by themselves

    def to_internal_value(self, data: Any) -> Rendered:
        fields = super().to_internal_value(data)
        for name, column in (("price", "price"), ("price_per_access", "access")):
            if name in fields:
                price = fields.pop(name)
                money = price if isinstance(price, dict) else {"amount": None, "currency": None}
                fields |= {f"{column}_amount": money["amount"], f"{column}_currency": money["currency"]}
        if "fee" in fields:
            fee = fields.pop("fee")
            terms = fee if isinstance(fee, dict) else {}
            fields |= {f"fee_{name}": terms.get(name) for name in ("amount", "currency", "every")}
        return fields

    attributes = {"requesterId": "requester.requester_id", "requesterName": "requester.name"}

    def show_price(self, license_: License) -> Rendered | None:
        return Money.shown(license_.price_amount, license_.price_currency)

    def show_price_per_access(self, license_: License) -> Rendered | None:
        return Money.shown(license_.access_amount, license_.access_currency)

    def show_fee(self, license_: License) -> Rendered | None:
        return FeeSerializer.render_money(license_.fee_amount, license_.fee_currency, license_.fee_every)

    def show_status(self, license_: License) -> str:
        return license_.state(timezone.now())


def former_terms(former: Mapping[str, object]) -> dict[str, object]:
    """Convert a licence's audit log fields to the API's format. The log has prices as text, as in `0.05 USD`."""
    terms = dict(former)
    for name in {"price", "pricePerAccess"} & terms.keys():
        amount, _, currency = str(terms[name] or "").partition(" ")
        terms[name] = Money.shown(Decimal(amount) if amount else None, currency or None)
    if "fee" in terms:
        terms["fee"] = former_fee(str(terms["fee"] or ""))
    return terms


def former_fee(text: str) -> dict[str, object] | None:
    """Convert a fee in the audit log to the API's object. The log has it as text, as in `50 EUR every month`."""
    if not text:
        return None
    amount, currency, _, every = text.split(" ")
    return FeeSerializer.render_money(Decimal(amount), currency, every)


class RevocationSerializer(StrictSerializer):
    """The empty body of a revocation."""


class LicenseBulkRowSerializer(LicenseSerializer):
    """A licence to issue, or changes of the one named by `id` or `externalId`."""

    id = Id("lic", required=False, allow_null=True, help_text="The licence to change, as by PATCH.")
    requesterId = Text(
        max_length=255,
        required=False,
        source="requester_id",
        help_text="Required when creating a licence. The caller's own id.",
    )
    licenseType = Text(
        max_length=100, required=False, source="license_type", help_text="Required when creating a licence."
    )

    never_null = frozenset({"requesterId", "licenseType"})


class LicenseBulkSerializer(StrictSerializer):
    """Licences to issue or change."""

    items = RowsField(child=LicenseBulkRowSerializer())


class LicenseBulkOutcomeSerializer(IndexedSerializer):
    """The outcome of a row."""

    status = serializers.ChoiceField(
        choices=STATUSES,
        help_text="`201` issued, `200` changed or already so, `422` a fault of the row, `409` a revoked licence, one "
        "that an earlier row is about, or an `externalId` that another licence has.",
    )
    license = LicenseSerializer(allow_null=True, help_text="Null if the row has an error.")
    error = ErrorShown(allow_null=True, help_text=ALONE)
