"""Ledger entries in the API."""

from decimal import Decimal

from rest_framework import serializers

from analytics.ledger.refunds import balance_of
from analytics.models import EntryType, LedgerEntry
from kit.rest.fields import Choice, ExternalId, Id, Text, Timestamp
from kit.rest.money import Amount, Currency
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer
from kit.values.json_values import Rendered


class LedgerEntrySerializer(RowSerializer):
    """Revenue, or a refund if negative."""

    id = Id("led", read_only=True)
    object = Choice(choices=["ledger_entry"], read_only=True)
    type = Choice(choices=EntryType.choices, read_only=True)
    amount = Amount(help_text="Not 0. Negative to give money back.")
    currency = Currency(help_text="ISO 4217.")
    occurredAt = Timestamp(
        required=False,
        allow_null=True,
        source="occurred_at",
        help_text="Reports count it on this day and convert it at that day's rate. Default: now.",
    )
    licenseId = Id("lic", max_length=100, required=False, allow_null=True, source="license_id")
    licenseType = Text(max_length=100, required=False, allow_null=True, source="license_type")
    feeId = Id(
        "led",
        max_length=100,
        required=False,
        allow_null=True,
        source="fee_id",
        help_text="The fee, or other charge without decision and licence, that this adjustment refunds.",
    )
    decisionId = Id("dec", max_length=100, required=False, allow_null=True, source="decision_id")
    contentId = Id("cnt", max_length=100, required=False, allow_null=True, source="content_id")
    contentTitle = Text(read_only=True, allow_null=True, help_text="The item's current title, even if it is deleted.")
    requesterId = Text(max_length=255, required=False, allow_null=True, source="requester_id")
    requesterName = Text(read_only=True, allow_null=True, help_text="The requester's current name.")
    description = Text(max_length=500, required=False, allow_null=True, help_text="What for.")
    externalId = ExternalId(help_text="Your own id of an adjustment. Each id is booked once.")
    refunded = Amount(
        read_only=True,
        allow_null=True,
        help_text="The amount refunded of the charge, fee or licence price; null for a correction.",
    )
    refundable = Amount(read_only=True, allow_null=True, help_text="The amount still refundable.")
    created = Timestamp(read_only=True)

    attributes = {
        "contentTitle": "content.title",
        "requesterId": "requester.requester_id",
        "requesterName": "requester.name",
        "refunded": "balance.refunded",
        "refundable": "balance.refundable",
    }

    def to_representation(self, entry: LedgerEntry) -> Rendered:
        vars(entry)["balance"] = balance_of(entry, self.context.get("balances"))
        return super().to_representation(entry)


class AdjustmentSerializer(LedgerEntrySerializer):
    """An adjustment to add."""

    def validate_amount(self, amount: Decimal) -> Decimal:
        if not amount:
            raise serializers.ValidationError("Must not be 0.")
        return amount


class RefundSerializer(StrictSerializer):
    """A refund of a charge, named by exactly one of `entryId`, `licenseId` and `decisionId`."""

    example = {"decisionId": "dec_01kd9wq3y8e4sbx6t5j9w2m7ka", "amount": "0.03"}

    entryId = Id("led", max_length=100, required=False, source="entry_id", help_text="The entry of the charge or fee.")
    licenseId = Id("lic", max_length=100, required=False, source="license_id", help_text="Refunds its price.")
    decisionId = Id("dec", max_length=100, required=False, source="decision_id", help_text="Refunds this access.")
    amount = Amount(
        more_than=0, required=False, allow_null=True, help_text="In the charge's currency. Default: all that is left."
    )
    reason = Text(max_length=500, required=False, allow_null=True, help_text="Becomes the entry's `description`.")
    externalId = ExternalId(help_text="Your own id. Each id is booked once.")

    def validate(self, fields: dict[str, object]) -> dict[str, object]:
        named = [name for name in ("entry_id", "license_id", "decision_id") if fields.get(name) is not None]
        if len(named) != 1:
            raise serializers.ValidationError("Give exactly one of entryId, licenseId and decisionId.")
        return fields
