"""Money: an append-only ledger, its daily totals, and exchange rates.

Amounts are exact decimals in the currency's unit (kit.values.amounts), never floats.
"""

from django.db import models
from django.utils import timezone

from accounts.models import Account
from analytics.models.usage import MONTHS, OfContent, OfRequester, Totals, add_counts
from kit.storage.loading import QuicklyLoaded
from kit.storage.references import Reference
from kit.values.amounts import AmountField, TotalField
from kit.values.currencies import in_full
from kit.values.decimals import plain
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp


class EntryType(models.TextChoices):
    LICENSE = "license", "Licence"  # a licence's price, recorded at its issue, dated at its start
    FEE = "fee"  # a licence's recurring fee, dated at the start of its period
    USAGE = "usage"  # pricePerAccess of an allowed check
    ADJUSTMENT = "adjustment"  # a refund, a correction or a sale made elsewhere


class ChargeColumns(models.Model):
    id = IdField("led", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    type = models.CharField(max_length=10, choices=EntryType.choices)
    amount = AmountField()
    currency = models.CharField(max_length=3)  # ISO 4217
    occurred_at = models.DateTimeField()  # reports use this day and its exchange rate
    license = Reference("licensing.License", models.DO_NOTHING, null=True)
    license_type = models.CharField("licence type", max_length=100, null=True)  # at the time
    decision = Reference("analytics.AccessEvent", models.DO_NOTHING, null=True)
    content = Reference("licensing.Content", models.DO_NOTHING, null=True)
    requester = Reference("licensing.Requester", models.DO_NOTHING, null=True, verbose_name="customer")
    # The fee that an adjustment refunds.
    fee = Reference("self", models.DO_NOTHING, null=True)
    description = models.CharField(max_length=500, null=True)
    external_id = models.CharField(max_length=255, null=True)  # of an adjustment; unique (analytics.ledger.services)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True


class LedgerEntry(QuicklyLoaded, ChargeColumns):
    """Revenue, or a refund if negative. Never changed: a correction is another entry. A database view of Entry.

    The database rejects changes and deletions, and so the deletion of an account with entries.

    A `usage` entry has the id of the decision it charges, except for the prefix, so that a decision cannot be charged
    twice. Its references have no database constraints, like those of events.
    """

    class Meta:
        managed = False
        verbose_name_plural = "ledger entries"

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
            "feeId": self.fee_id,
            "decisionId": self.decision_id,
            "contentId": self.content_id,
            "requesterId": self.requester.requester_id if self.requester else None,
            "description": self.description,
            "externalId": self.external_id,
        }


class DailyRevenue(Totals):
    """The sum of a UTC day's entries, without pending charges (analytics.models.pending)."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    day = models.DateField()
    currency = models.CharField(max_length=3)
    amount = TotalField()

    class Meta:
        abstract = True


class TierRevenue(DailyRevenue):
    """Daily revenue by licence type, `""` for entries without one. Together the rows include every entry."""

    license_type = models.CharField(max_length=100, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "license_type"], name="revenue_of_tier")
        ]


class RequesterRevenue(DailyRevenue, OfRequester):
    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "requester"], name="revenue_of_requester")
        ]


class ContentRevenue(DailyRevenue, OfContent):
    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "day", "currency", "content"], name="revenue_of_content")
        ]


class RevenueYear(Totals):
    """Running totals of the ledger from the start of a calendar year (UTC) to the end of each month.

    PostgreSQL only. Refunds have separate rows, so that all amounts of a row have the same sign. With a period's
    lowest and highest exchange rates, they bound the converted amounts (analytics.revenue.spans).
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    year = models.PositiveSmallIntegerField()
    currency = models.CharField(max_length=3)
    refund = models.BooleanField()  # whether for entries below 0

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


class ContentRevenueYear(RevenueYear, OfContent):
    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["account", "content", "year", "currency", "refund"], name="revenue_of_content_in_year"
            )
        ]


class ExchangeRate(models.Model):
    """The units of a currency per euro on a day, as published by the European Central Bank."""

    day = models.DateField()
    currency = models.CharField(max_length=3)
    rate = models.CharField(max_length=30)  # the decimal as published, exact on every database

    class Meta:
        constraints = [models.UniqueConstraint(fields=["currency", "day"], name="one_rate_a_day")]

    def __str__(self) -> str:
        return f"{self.day}: EUR 1 = {self.currency} {self.rate}"
