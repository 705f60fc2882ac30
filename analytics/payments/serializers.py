"""Serializers of payments."""

from analytics.payments.models import Payment, PaymentKind
from kit.rest.fields import Choice, Id, Text, Timestamp
from kit.rest.money import Amount, Currency
from kit.rest.serializers import StrictSerializer
from kit.values.amounts import render_amount
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp


class PaymentSerializer(StrictSerializer):
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
    externalId = Text(
        max_length=255,
        required=False,
        allow_null=True,
        source="external_id",
        help_text="Your own id. Each id is recorded once.",
    )
    note = Text(max_length=500, required=False, allow_null=True, help_text="For your own records.")
    grantId = Id("grt", read_only=True, allow_null=True, help_text="The credit that it paid for.")
    voidedAt = Timestamp(read_only=True, allow_null=True, help_text="Statements count the void in this month.")
    voidReason = Text(read_only=True, allow_null=True, help_text="Why it was voided.")
    created = Timestamp(read_only=True, help_text="When it was recorded. Statements count it in this month.")

    def to_representation(self, payment: Payment) -> Rendered:
        return {
            "id": payment.pk,
            "object": "payment",
            "requesterId": payment.requester.requester_id,
            "requesterName": payment.requester.name,
            "kind": payment.kind,
            "amount": render_amount(payment.amount),
            "currency": payment.currency,
            "receivedAt": render_timestamp(payment.received_at),
            "externalId": payment.external_id,
            "note": payment.note,
            "grantId": payment.grant_id,
            "voidedAt": render_timestamp(payment.voided_at),
            "voidReason": payment.void_reason,
            "created": render_timestamp(payment.created),
        }


class VoidSerializer(StrictSerializer):
    """Why a payment is voided."""

    example = {"reason": "Returned by the bank"}

    reason = Text(max_length=500, help_text="Operators and the API show it.")
