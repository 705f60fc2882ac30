"""Wallets, grants and entries on the wire."""

from decimal import Decimal
from typing import Unpack

from django.db.models import F, FilteredRelation, Q, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from analytics.payments.models import Payment
from analytics.wallets.models import (
    DEFAULT_PRIORITY,
    GRANT_STATES,
    Grant,
    GrantKind,
    RefillPeriod,
    Wallet,
    WalletEntryType,
)
from analytics.wallets.units import ACCESS, UNITS
from kit.rest.fields import Array, Choice, ExternalId, FieldOptions, Id, Integer, ParsedField, Text, Timestamp
from kit.rest.money import Amount, Money
from kit.rest.rows import RowSerializer, ShownRow
from kit.rest.serializers import StrictSerializer
from kit.values.decimals import plain, render_amount
from kit.values.json_values import Rendered
from kit.values.suggestions import MAX_SHOWN, did_you_mean
from kit.values.timestamps import render_timestamp

MAX_THRESHOLDS = 10
NEW_KINDS = [GrantKind.PAID.value, GrantKind.PROMOTIONAL.value]


def parse_unit(text: str) -> str:
    if text not in UNITS:
        raise ValueError(
            f"Must be `{ACCESS}`, or the ISO 4217 code of a currency in use such as EUR, "
            f"not {text[:MAX_SHOWN]!r}.{did_you_mean(text, UNITS)}"
        )
    return text


@extend_schema_field({"type": "string", "enum": UNITS})
class Unit(ParsedField[str]):
    """The ISO 4217 code of a currency in use, or `access`, which counts accesses."""

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_unit, **options)


class RolloverSerializer(StrictSerializer):
    """Unused credit of a refill that is kept at the next one: at most `max`, and at least `min`."""

    example = {"max": 50}

    min = Amount(least=0, required=False)
    max = Amount(least=0, required=False)


class RefillSerializer(StrictSerializer):
    """Credit that is added each period; the rest expires with the period, except what rolls over."""

    example = {"amount": 100, "every": "month"}

    amount = Amount(more_than=0)
    every = Choice(choices=RefillPeriod.choices)
    anchor = Timestamp(
        required=False,
        help_text="Start of a period. Default: when the refill was set. Days and months are counted in the account's "
        "`timeZone`; an offset only names the moment.",
    )
    rollover = RolloverSerializer(required=False, help_text="What stays when the next refill comes. Default: nothing.")


class ThresholdSerializer(StrictSerializer):
    """A balance that sends `wallet.low`: a `value`, or `percent` of the balance after the latest grant."""

    example = {"percent": 20}

    value = Amount(least=0, required=False)
    percent = Integer(min_value=1, max_value=99, required=False)

    sometimes = frozenset({"value", "percent"})

    def validate(self, fields: dict[str, object]) -> dict[str, object]:
        if len(fields) != 1:
            raise serializers.ValidationError("Give exactly one of value and percent.")
        return {name: plain(value) if isinstance(value, Decimal) else value for name, value in fields.items()}


class WalletChangeSerializer(RowSerializer):
    """The fields of a wallet that can be changed, and those that must stay as they were read."""

    id = Id("wal", read_only=True)
    object = Choice(choices=["wallet"], read_only=True)
    requesterId = Text(required=False, max_length=255, source="requester_id", help_text="Cannot be changed.")
    requesterName = Text(read_only=True, allow_null=True, help_text="The requester's current name.")
    licenseId = Text(
        required=False, max_length=100, allow_null=True, source="license_id", help_text="Cannot be changed."
    )
    unit = ParsedField(str, required=False, help_text="Cannot be changed.")
    balance = Amount(read_only=True)
    floor = Amount(required=False, help_text="The lowest permitted balance; 0 or less. Default: 0.")
    thresholds = Array(child=ThresholdSerializer(), required=False, max_length=MAX_THRESHOLDS)
    refill = RefillSerializer(required=False, allow_null=True)
    nextRefillAt = Timestamp(read_only=True, allow_null=True)
    created = Timestamp(read_only=True)
    updated = Timestamp(read_only=True)

    cleared = {"floor": Decimal(0), "thresholds": []}
    never_null = frozenset({"requesterId", "unit"})
    beside_state = frozenset({"balance", "nextRefillAt"})

    attributes = {"requesterId": "requester.requester_id", "requesterName": "requester.name"}

    def show_thresholds(self, wallet: Wallet) -> list[Rendered]:
        return [
            {name: render_amount(Decimal(value)) if name == "value" else value for name, value in threshold.items()}
            for threshold in wallet.thresholds
        ]

    def show_refill(self, wallet: Wallet) -> Rendered | None:
        if wallet.refill_amount is None:
            return None
        return {
            "amount": render_amount(wallet.refill_amount),
            "every": wallet.refill_every,
            "anchor": render_timestamp(wallet.refill_anchor),
            "rollover": {"min": render_amount(wallet.rollover_min), "max": render_amount(wallet.rollover_max)},
        }


class WalletSerializer(WalletChangeSerializer):
    """Prepaid credit of a requester, or of one of its licences."""

    requesterId = Text(max_length=255, source="requester_id")
    licenseId = Id("lic", max_length=100, required=False, allow_null=True, source="license_id")
    unit = Unit(help_text="ISO 4217, or `access`: how many accesses.")


class GrantKindField(Choice):
    """The kind of a grant. Only the service creates refills and refunds."""

    def to_internal_value(self, data: object) -> str:
        if data not in NEW_KINDS:
            self.fail("invalid_choice", allowed=", ".join(NEW_KINDS), suggestion=did_you_mean(data, NEW_KINDS))
        return super().to_internal_value(data)


class Price(Money):
    """An amount above 0 in a currency."""

    amount = Amount(more_than=0)


class GrantSerializer(RowSerializer):
    """Credit that was added to a wallet."""

    id = Id("grt", read_only=True)
    object = Choice(choices=["grant"], read_only=True)
    walletId = Id("wal", read_only=True)
    amount = Amount(more_than=0)
    remaining = Amount(read_only=True, help_text="The amount left.")
    kind = GrantKindField(choices=GrantKind.choices, required=False, help_text="Default: `paid`.")
    priority = Integer(
        min_value=0,
        max_value=255,
        required=False,
        help_text=f"Lower ones are spent first. Default: {DEFAULT_PRIORITY}.",
    )
    status = Choice(choices=GRANT_STATES, read_only=True)
    effectiveAt = Timestamp(
        required=False, allow_null=True, source="effective_at", help_text="When it starts. Default: now."
    )
    expiresAt = Timestamp(required=False, allow_null=True, source="expires_at")
    externalId = ExternalId(help_text="Your own id. Each id adds credit once.")
    paid = Price(
        required=False,
        allow_null=True,
        help_text="What was paid for it: recorded as a payment with the grant, which settles no charge. Needs "
        "`revenue:write`. What a wallet of money spends is charged: record what was paid for that by itself.",
    )
    voidedAt = Timestamp(read_only=True, allow_null=True)
    created = Timestamp(read_only=True)

    def show_paid(self, grant: Grant) -> Rendered | None:
        """Return what was paid for the grant; a query, unless they are `with_prices`."""
        columns = vars(grant)
        if "paid_amount" in columns:
            return Money.shown(columns["paid_amount"], columns["paid_currency"])
        payment = Payment.objects.filter(grant=grant.pk, reverses=None).first()
        return None if payment is None else Money.shown(payment.amount, payment.currency)


def with_prices(grants: QuerySet[Grant]) -> QuerySet[Grant]:
    """Return the grants with what was paid for each. A grant has at most one payment and its void."""
    payment = FilteredRelation("payments", condition=Q(payments__reverses=None))
    return grants.annotate(payment=payment, paid_amount=F("payment__amount"), paid_currency=F("payment__currency"))


class WalletEntrySerializer(RowSerializer):
    """A change of a wallet's balance."""

    id = Id("wen")
    object = Choice(choices=["wallet_entry"])
    walletId = Id("wal")
    type = Choice(choices=WalletEntryType.choices)
    amount = Amount(help_text="Negative if the balance falls.")
    grantId = Id("grt", allow_null=True)
    decisionId = Id("dec", allow_null=True)
    created = Timestamp(help_text="When the entry took effect.")


class CreditAccessSerializer(ShownRow):
    """Whether a wallet could pay an amount now."""

    hasAccess = serializers.BooleanField()
    balance = Amount()
    available = Amount(help_text="The amount that can be spent before the balance reaches the floor.")

    def show_has_access(self, wallet: Wallet) -> bool:
        return wallet.covers(self.context["amount"])
