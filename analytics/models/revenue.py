"""Money: an append-only ledger, what it adds up to by day, and the exchange rates that reports convert with.

Amounts are exact decimals in the currency's own unit (kit.values.amounts), never floats.
"""

from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Account
from analytics.models.usage import MONTHS, OfContent, OfRequester, add_counts
from kit.values.amounts import AmountField, TotalField, plain
from kit.values.currencies import in_full
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp


class EntryType(models.TextChoices):
    LICENSE = "license", "Licence"  # a licence's price, at its start
    USAGE = "usage"  # pricePerAccess of an allowed check
    ADJUSTMENT = "adjustment"  # a refund, a correction, a sale made elsewhere


class LedgerEntry(models.Model):
    """An amount earned, or given back if negative. Never changed: a correction is an entry of its own.

    The database itself refuses changes and deletions, and with them the deletion of an account that has entries.

    A `usage` entry has the id of the decision that it charges (but for the prefix), so that no decision can be charged
    twice. As with events, its references carry no database constraints.
    """

    id = IdField("led", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    type = models.CharField(max_length=10, choices=EntryType.choices)
    amount = AmountField()
    currency = models.CharField(max_length=3)  # ISO 4217
    occurred_at = models.DateTimeField()  # reports count it on this day, and convert it at this day's rate
    license = models.ForeignKey(
        "licensing.License", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    license_type = models.CharField("licence type", max_length=100, null=True)  # as it was then
    decision = models.ForeignKey(
        "analytics.AccessEvent", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    content = models.ForeignKey(
        "licensing.Content", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    description = models.CharField(max_length=500, null=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "ledger entries"
        indexes = [
            models.Index(fields=["account", "created", "id"], name="ledger_newest_first"),  # as those of AccessEvent
            models.Index(fields=["account", "occurred_at"], name="ledger_by_time"),
            # With the charge of a decision, which has its id, these are the decision's entries.
            models.Index(
                fields=["decision"],
                name="ledger_of_decision",
                condition=Q(type="adjustment", decision__isnull=False),
            ),
            models.Index(
                fields=["license"],
                name="ledger_of_license_price",
                condition=Q(decision__isnull=True, license__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{in_full(self.amount, self.currency)} ({self.type})"

    def audited(self) -> dict[str, object]:
        return {
            "type": str(self.type),
            "amount": plain(self.amount),
            "currency": self.currency,
            "occurredAt": render_timestamp(self.occurred_at),
            "licenseId": self.license_id,
            "licenseType": self.license_type,
            "decisionId": self.decision_id,
            "contentId": self.content_id,
            "requesterId": self.requester.requester_id if self.requester else None,
            "description": self.description,
        }


class DailyRevenue(models.Model):
    """The ledger's entries of a UTC day, added up; except pending charges (analytics.models.pending)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    day = models.DateField()
    currency = models.CharField(max_length=3)
    amount = TotalField()

    class Meta:
        abstract = True


class TierRevenue(DailyRevenue):
    """By licence type, `""` for entries of none. Its sum is that of all entries."""

    license_type = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "license_type"], name="revenue_of_tier")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.license_type}: {plain(self.amount)} {self.currency}"


class RequesterRevenue(DailyRevenue):
    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "requester"], name="revenue_of_requester")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.requester_id}: {plain(self.amount)} {self.currency}"


class ContentRevenue(DailyRevenue):
    content = models.ForeignKey("licensing.Content", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "content"], name="revenue_of_content")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.content_id}: {plain(self.amount)} {self.currency}"


class RevenueYear(models.Model):
    """The ledger's entries from the beginning of a calendar year (UTC) to the end of each month, as DailyRevenue.

    PostgreSQL only. Refunds have rows of their own, so that all amounts of a row have one sign: with the lowest and
    the highest rate of a period they bound what the amounts were worth in it (analytics.revenue.bounds).
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    year = models.PositiveSmallIntegerField()
    currency = models.CharField(max_length=3)
    refund = models.BooleanField()  # entries below 0
    m12: Decimal

    class Meta:
        abstract = True


add_counts(RevenueYear, MONTHS, TotalField)


class RequesterRevenueYear(RevenueYear, OfRequester):
    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "requester", "year", "currency", "refund"], name="revenue_of_requester_in_year"
            )
        ]

    def __str__(self) -> str:
        return f"{self.requester_id} in {self.year}: {plain(self.m12)} {self.currency}"


class ContentRevenueYear(RevenueYear, OfContent):
    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "content", "year", "currency", "refund"], name="revenue_of_content_in_year"
            )
        ]

    def __str__(self) -> str:
        return f"{self.content_id} in {self.year}: {plain(self.m12)} {self.currency}"


class ExchangeRate(models.Model):
    """How many units of a currency one euro was worth on a day, as the European Central Bank published it."""

    day = models.DateField()
    currency = models.CharField(max_length=3)
    rate = models.CharField(max_length=30)  # the decimal as published: exact on every database

    class Meta:
        constraints = [models.UniqueConstraint(fields=["currency", "day"], name="one_rate_a_day")]

    def __str__(self) -> str:
        return f"{self.day}: EUR 1 = {self.currency} {self.rate}"
