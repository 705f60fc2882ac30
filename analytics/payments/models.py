"""Payments. Amounts are stored as integers in millionths."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.plans.models import Account
from kit.values.amounts import AmountField, plain
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp


class Payment(models.Model):
    """Money that a requester paid. Immutable, except that erasing the requester clears the note."""

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
    amount = AmountField()
    currency = models.CharField(max_length=3)
    received_at = models.DateTimeField()
    external_id = models.CharField(max_length=255, null=True)
    note = models.CharField(max_length=500, null=True)
    created = models.DateTimeField(default=timezone.now)  # when it was recorded: statements count it in this month

    class Meta:
        indexes = [
            models.Index(fields=["account", "created", "id"], name="payments_newest_first"),
            models.Index(fields=["requester", "created", "id"], name="payments_of_requester"),
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
            "amount": plain(self.amount),
            "currency": self.currency,
            "receivedAt": render_timestamp(self.received_at),
            "externalId": self.external_id,
        }
