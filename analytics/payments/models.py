"""Payments. Amounts are stored as integers in millionths."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.plans.models import Account
from kit.values.amounts import AmountField, plain
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp


class PaymentKind(models.TextChoices):
    PAYMENT = "payment"  # money that the requester paid
    PAYOUT = "payout"  # money that was given back to the requester


class Payment(models.Model):
    """Money that a requester paid, or was given back.

    A void counts in the month in which it is made, so closed statements never change. Otherwise a payment never
    changes, except that erasing the requester clears its free text.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/payments?requesterId=",)

    id = IdField("pay", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    requester = models.ForeignKey(
        "licensing.Requester",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        verbose_name="customer",
    )
    kind = models.CharField(max_length=7, choices=PaymentKind.choices, db_default=PaymentKind.PAYMENT)
    amount = AmountField()
    currency = models.CharField(max_length=3)
    received_at = models.DateTimeField()
    external_id = models.CharField(max_length=255, null=True)
    note = models.CharField(max_length=500, null=True)
    # The credit that it paid for. Such a payment settles no charge.
    grant = models.ForeignKey(
        "analytics.Grant",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="payments",
    )
    voided_at = models.DateTimeField(null=True)
    void_reason = models.CharField(max_length=500, null=True)
    created = models.DateTimeField(default=timezone.now)  # when it was recorded: statements count it in this month

    class Meta:
        indexes = [
            models.Index(fields=["account", "created", "id"], name="payments_newest_first"),
            models.Index(fields=["requester", "created", "id"], name="payments_of_requester"),
            models.Index(
                fields=["account", "voided_at"], name="voided_payments", condition=Q(voided_at__isnull=False)
            ),
            models.Index(fields=["grant"], name="payments_of_grant", condition=Q(grant__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                name="one_payment_of_external_id",
                condition=Q(external_id__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.currency}"

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
