"""Licences granted to requesters."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models import Account
from kit.values.amounts import AmountField
from kit.values.decimals import plain
from kit.values.ids import IdField
from kit.values.numbers import NumbersOfTheApi
from kit.values.timestamps import render_timestamp
from licensing.requesters.models import Requester


class LicenseStatus(models.TextChoices):
    ACTIVE = "active"
    REVOKED = "revoked"


class FeeEvery(models.TextChoices):
    """The period of a recurring fee."""

    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class License(models.Model):
    """A licence: a type, for some or all items, for a period, at a price.

    The scope is a union: an item is covered if its id, one of its tags or its policy is named, or if nothing is named.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/licenses?externalId=", "/v1/licenses?requesterId=")

    id = IdField("lic", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="licenses")
    requester = models.ForeignKey(
        Requester, on_delete=models.PROTECT, related_name="licenses", verbose_name="customer"
    )
    external_id = models.CharField(max_length=255, null=True, blank=True)
    license_type = models.CharField("licence type", max_length=100)
    content_ids = models.JSONField(default=list, blank=True)
    tags = models.JSONField(default=list, blank=True)
    policy_ids = models.JSONField(default=list, blank=True)
    starts_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    price_amount = AmountField(null=True, blank=True)
    price_currency = models.CharField(max_length=3, null=True, blank=True)
    access_amount = AmountField(null=True, blank=True)  # pricePerAccess
    access_currency = models.CharField(max_length=3, null=True, blank=True)
    fee_amount = AmountField(null=True, blank=True)  # for each period, in advance (licensing.licenses.fees)
    fee_currency = models.CharField(max_length=3, null=True, blank=True)
    fee_every = models.CharField(max_length=7, choices=FeeEvery.choices, null=True, blank=True)
    fee_zone = models.CharField(max_length=64, null=True, editable=False)  # on whose wall clock `starts_at` is read
    fee_months = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # of the next period
    next_fee_at = models.DateTimeField(null=True, editable=False)
    status = models.CharField(max_length=10, choices=LicenseStatus.choices, default=LicenseStatus.ACTIVE)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    metadata = models.JSONField(db_default={}, default=dict, blank=True, decoder=NumbersOfTheApi)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = "licence"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(external_id__isnull=False),
                name="license_external_id_is_unique",
            )
        ]
        indexes = [
            models.Index(fields=["account", "-created", "-id"], name="licenses_newest_first"),
            models.Index(
                fields=["account", "next_fee_at"],
                condition=Q(next_fee_at__isnull=False),
                name="licenses_with_fees_due",
            ),
            models.Index(
                fields=["expires_at"], condition=Q(status="active", expires_at__isnull=False), name="licenses_ending"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.license_type} ({self.pk})"

    def state(self, now: datetime) -> str:
        """Return `revoked`, `expired` or `active`. Licences that have not started are active."""
        if self.status == LicenseStatus.REVOKED:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"

    def audited(self) -> dict[str, object]:
        return {
            "requesterId": self.requester.requester_id,
            "requesterName": self.requester.name,
            "externalId": self.external_id,
            "licenseType": self.license_type,
            "contentIds": self.content_ids,
            "tags": self.tags,
            "policyIds": self.policy_ids,
            "startsAt": render_timestamp(self.starts_at),
            "expiresAt": render_timestamp(self.expires_at),
            "price": format_price(self.price_amount, self.price_currency),
            "pricePerAccess": format_price(self.access_amount, self.access_currency),
            "fee": format_fee(self.fee_amount, self.fee_currency, self.fee_every),
            "status": str(self.status),
            "revokedAt": render_timestamp(self.revoked_at),
            "metadata": self.metadata,
        }


def format_price(amount: Decimal | None, currency: str | None) -> str | None:
    """Format a price, as in `0.05 USD`."""
    return None if amount is None else f"{plain(amount)} {currency}"


def format_fee(amount: Decimal | None, currency: str | None, every: str | None) -> str | None:
    """Format a recurring fee, as in `50 EUR every month`."""
    return None if amount is None else f"{plain(amount)} {currency} every {every}"
