"""Payments. Amounts are stored as integers in millionths."""

from typing import ClassVar

from django.db import models
from django.utils import timezone

from accounts.plans.models import Account
from kit.storage.references import Reference
from kit.values.amounts import AmountField
from kit.values.currencies import in_full
from kit.values.decimals import plain
from kit.values.ids import IdField, decode
from kit.values.timestamps import render_timestamp

TRANSFER_NOTE = "Paid in advance for credit that moved to another customer."


def is_payment_id(text: str | None) -> bool:
    return text is not None and decode("pay", text) is not None


class PaymentKind(models.TextChoices):
    PAYMENT = "payment"  # money that the requester paid
    PAYOUT = "payout"  # money that was given back to the requester


class Payment(models.Model):
    """Money that a requester paid, or was given back. Never changed, except that an erasure clears `note`.

    A database view of the entries (analytics.models.entries).

    A transfer between two customers is a payout and a payment, which name each other by `external_id`. No money
    arrived or left.

    A void is a row of its own with the negative amount, and its reason as `note`. It counts in its own month, so
    closed statements never change.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/payments?requesterId=",)

    id = IdField("pay", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    requester = Reference("licensing.Requester", models.DO_NOTHING, verbose_name="customer")
    kind = models.CharField(max_length=7, choices=PaymentKind.choices)
    amount = AmountField()
    currency = models.CharField(max_length=3)
    received_at = models.DateTimeField()
    external_id = models.CharField(max_length=255, null=True)
    note = models.CharField(max_length=500, null=True)
    # The credit that it paid for. Such a payment settles no charge.
    grant = Reference("analytics.Grant", models.DO_NOTHING, null=True, related_name="payments")
    reverses = Reference("self", models.DO_NOTHING, null=True)  # the payment that this row voids
    # When and why another row voids this one.
    voided_at = models.DateTimeField(null=True)
    void_reason = models.CharField(max_length=500, null=True)
    created = models.DateTimeField(default=timezone.now)  # when it was recorded: statements count it in this month

    class Meta:
        managed = False

    def __str__(self) -> str:
        return in_full(self.amount, self.currency)

    @property
    def is_transfer(self) -> bool:
        return is_payment_id(self.external_id)

    def audited(self) -> dict[str, object]:
        return {
            "requesterId": self.requester.requester_id,
            "kind": str(self.kind),
            "amount": plain(self.amount),
            "currency": self.currency,
            "receivedAt": render_timestamp(self.received_at),
            "externalId": self.external_id,
            "grantId": self.grant_id,
            "voidedAt": render_timestamp(self.voided_at),
            "voidReason": self.void_reason,
        }
