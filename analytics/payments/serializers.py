"""Serializers of payments."""

from analytics.payments.models import PaymentKind
from kit.rest.fields import Choice, ExternalId, Id, Text, Timestamp
from kit.rest.money import Amount, Currency
from kit.rest.rows import RowSerializer
from kit.rest.serializers import StrictSerializer


class PaymentSerializer(RowSerializer):
    """Money that a requester paid, or was given back."""

    id = Id("pay", read_only=True)
    object = Choice(choices=["payment"], read_only=True)
    requesterId = Text(max_length=255, source="requester_id")
    requesterName = Text(read_only=True, allow_null=True, help_text="The requester's current name.")
    kind = Choice(
        choices=PaymentKind.choices,
        required=False,
        help_text="`payment` (default), or `payout`: money given back to the requester.",
    )
    amount = Amount(more_than=0)
    currency = Currency(help_text="ISO 4217.")
    receivedAt = Timestamp(required=False, allow_null=True, source="received_at", help_text="Default: now.")
    externalId = ExternalId(help_text="Your own id. Each id is recorded once.")
    note = Text(max_length=500, required=False, allow_null=True, help_text="For your own records.")
    grantId = Id("grt", read_only=True, allow_null=True, help_text="The credit that it paid for.")
    voidedAt = Timestamp(read_only=True, allow_null=True, help_text="Statements count the void in this month.")
    voidReason = Text(read_only=True, allow_null=True, help_text="Why it was voided.")
    created = Timestamp(read_only=True, help_text="When it was recorded. Statements count it in this month.")

    attributes = {"requesterId": "requester.requester_id", "requesterName": "requester.name"}


class VoidSerializer(StrictSerializer):
    """Why a payment is voided."""

    example = {"reason": "Returned by the bank"}

    reason = Text(max_length=500, help_text="Operators and the API show it.")
