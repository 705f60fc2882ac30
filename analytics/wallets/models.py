"""Wallets, their grants, and the entries of both. Amounts are whole millionths in the database."""

from datetime import tzinfo
from decimal import Decimal
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.plans.models import Account
from analytics.wallets.units import in_units
from kit.storage.references import Reference
from kit.values.amounts import AmountField
from kit.values.calendar import zone_named
from kit.values.decimals import plain
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp

DEFAULT_PRIORITY = 128
GRANT_STATES = ["scheduled", "active", "ended", "voided"]


class RefillPeriod(models.TextChoices):
    """The period of a refill."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"


class GrantKind(models.TextChoices):
    PAID = "paid"
    PROMOTIONAL = "promotional"
    REFILL = "refill"
    REFUND = "refund"


class WalletEntryType(models.TextChoices):
    GRANT = "grant"
    SPEND = "spend"
    EXPIRE = "expire"
    VOID = "void"
    REFUND = "refund"
    CARRY = "carry"


class Wallet(models.Model):
    """Prepaid credit of a requester, or of one of its licences, in one unit.

    `balance` is the rest of all started grants, minus spends that are not allocated to grants yet. It is exact up to
    `next_change_at`, when a grant starts or ends or a refill is due; null if nothing is scheduled. `reference` is the
    balance after the latest grant, of which thresholds in per cent are parts. A spend that leaves no more than
    `notice_at` has events to write, or is not covered; null until the next change under a lock computes it.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/wallets?requesterId=",)

    id = IdField("wal", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    requester = Reference("licensing.Requester", models.DO_NOTHING, verbose_name="customer")
    license = Reference("licensing.License", models.DO_NOTHING, null=True)
    unit = models.CharField(max_length=6)  # ISO 4217, or ACCESS
    balance = AmountField(default=Decimal(0))
    floor = AmountField(default=Decimal(0))
    reference = AmountField(default=Decimal(0))
    thresholds = models.JSONField(default=list)
    notice_at = AmountField(null=True)
    refill_amount = AmountField(null=True)
    refill_every = models.CharField(max_length=5, choices=RefillPeriod.choices, null=True)
    refill_anchor = models.DateTimeField(null=True)
    refill_zone = models.CharField(max_length=64, null=True)  # of kit.values.calendar.zone_named; null is UTC
    rollover_min = AmountField(default=Decimal(0))
    rollover_max = AmountField(default=Decimal(0))
    refills = models.PositiveIntegerField(default=0)  # that were made
    next_refill_at = models.DateTimeField(null=True)
    next_change_at = models.DateTimeField(null=True)
    exhausted_at = models.DateTimeField(null=True)  # since nothing is left, or a check was not covered
    created = models.DateTimeField(default=timezone.now)
    updated = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["account", "created", "id"], name="wallets_newest_first"),
            models.Index(fields=["next_change_at"], name="wallets_due", condition=Q(next_change_at__isnull=False)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["requester", "unit"], name="one_wallet_of_requester", condition=Q(license__isnull=True)
            ),
            models.UniqueConstraint(
                fields=["license", "unit"], name="one_wallet_of_license", condition=Q(license__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return in_units(self.balance, self.unit)

    @property
    def available(self) -> Decimal:
        """The credit that can be spent, down to the floor."""
        return max(self.balance - self.floor, Decimal(0))

    def covers(self, amount: Decimal) -> bool:
        """Whether the credit pays an amount. Nothing is due (analytics.recording.spending_sql.COVERS)."""
        return self.balance - amount >= self.floor

    def end_refills(self) -> None:
        self.refill_amount = self.refill_every = self.refill_anchor = self.refill_zone = self.next_refill_at = None
        self.rollover_min = self.rollover_max = Decimal(0)

    @property
    def zone(self) -> tzinfo:
        """The time zone on whose calendar its periods are counted."""
        return zone_named(self.refill_zone)

    def audited(self) -> dict[str, object]:
        refill = None
        if self.refill_amount is not None:
            refill = f"{plain(self.refill_amount)} every {self.refill_every}"
        return {
            "requesterId": self.requester.requester_id,
            "licenseId": self.license_id,
            "unit": self.unit,
            "floor": plain(self.floor),
            "thresholds": self.thresholds,
            "refill": refill,
            "refillAnchor": render_timestamp(self.refill_anchor),
            "refillZone": self.refill_zone,
            "rollover": f"{plain(self.rollover_min)} to {plain(self.rollover_max)}",
        }


class Grant(models.Model):
    """Credit that was added to a wallet.

    `remaining` is what is left of it as of the wallet's latest allocation. `started` says whether its amount is part
    of the balance; once it has `ended_at` it is spent, expired or void.
    """

    id = IdField("grt", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, related_name="grants", db_index=False)
    amount = AmountField()
    remaining = AmountField()
    kind = models.CharField(max_length=11, choices=GrantKind.choices)
    priority = models.PositiveSmallIntegerField(default=DEFAULT_PRIORITY)
    effective_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    external_id = models.CharField(max_length=255, null=True)
    started = models.BooleanField(default=False)
    ended_at = models.DateTimeField(null=True)
    voided_at = models.DateTimeField(null=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index(fields=["wallet", "created", "id"], name="grants_newest_first"),
            models.Index(fields=["wallet"], name="open_grants", condition=Q(ended_at__isnull=True)),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                name="one_grant_of_external_id",
                condition=Q(external_id__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"{plain(self.amount)} ({self.kind})"

    @property
    def status(self) -> str:
        if self.voided_at is not None:
            return "voided"
        if not self.started:
            return "scheduled"
        return "active" if self.ended_at is None else "ended"

    def audited(self) -> dict[str, object]:
        return {
            "walletId": self.wallet_id,
            "amount": plain(self.amount),
            "kind": str(self.kind),
            "priority": self.priority,
            "effectiveAt": render_timestamp(self.effective_at),
            "expiresAt": render_timestamp(self.expires_at),
            "externalId": self.external_id,
            "voidedAt": render_timestamp(self.voided_at),
        }


class WalletEntry(models.Model):
    """A change of a wallet's balance, above 0 or below. Never changed; a trigger refuses it.

    It counts for the requester who had the wallet when it was written. A merge carries the balance by two entries.
    """

    id = IdField("wen", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    wallet = models.ForeignKey(Wallet, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    # Null only in what an earlier version is writing: a trigger of migration 0036 fills it.
    requester = Reference("licensing.Requester", models.DO_NOTHING, null=True)
    type = models.CharField(max_length=6, choices=WalletEntryType.choices)
    amount = AmountField()
    grant = Reference(Grant, models.DO_NOTHING, null=True)
    decision = Reference("analytics.AccessEvent", models.DO_NOTHING, null=True)
    created = models.DateTimeField()  # when it took effect

    class Meta:
        verbose_name = "wallet entry"
        verbose_name_plural = "wallet entries"
        indexes = [
            models.Index(fields=["wallet", "created", "id"], name="wallet_entries_newest_first"),
            models.Index(fields=["decision"], name="spends_of_decision", condition=Q(decision__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{plain(self.amount)} ({self.type})"
