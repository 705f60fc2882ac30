"""Accounts and their plans."""

from collections.abc import Callable
from datetime import tzinfo

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.utils import timezone

from kit.storage.clocks import knows_time_zone
from kit.values.calendar import Months, zone_named
from kit.values.currencies import parse_currency
from kit.values.ids import IdField
from kit.values.time_zones import parse_zone_name
from kit.values.timestamps import render_timestamp

# The allowance at the edge as a multiple of the plan's limits, unless an account has its own.
EDGE_MULTIPLE = 10


class Plan(models.TextChoices):
    STARTER = "starter"
    PROFESSIONAL = "professional"
    ENTERPRISE = "enterprise"


class Unknown(models.TextChoices):
    """The decision for an unknown page or host."""

    ALLOW = "allow"
    DENY = "deny"


class UnlistedSigners(models.TextChoices):
    """Whether signers of requests that the crawler table does not list can pay at the edge."""

    PAY = "pay"
    DENY = "deny"


class VisitorAddresses(models.TextChoices):
    """How addresses of people are stored. Those of crawlers are always stored in full."""

    TRUNCATED = "truncated"
    FULL = "full"


# Requests per minute and per day (docs/reference/api.md, Limits). Enterprise accounts have custom limits.
PLAN_LIMITS: dict[str, tuple[int, int]] = {
    Plan.STARTER: (60, 10_000),
    Plan.PROFESSIONAL: (300, 100_000),
}


class Account(models.Model):
    """A publisher. Every resource belongs to one account, and nothing crosses accounts."""

    id = IdField("acc", primary_key=True)
    name = models.CharField(max_length=255)
    plan = models.CharField(max_length=20, choices=Plan.choices, default=Plan.STARTER)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Enterprise only.")
    requests_per_day = models.PositiveIntegerField(null=True, blank=True, help_text="Enterprise only.")
    edge_requests_per_minute = models.PositiveBigIntegerField(null=True, blank=True, help_text="Enterprise only.")
    edge_requests_per_day = models.PositiveBigIntegerField(null=True, blank=True, help_text="Enterprise only.")
    # Null, which the previous version stores, means allow.
    unknown_host = models.CharField(
        "hosts without a site",
        max_length=5,
        choices=Unknown.choices,
        default=Unknown.ALLOW,
        null=True,
        blank=True,
        help_text="Whether the edge lets visitors in at hosts that the account has no site for.",
    )
    # Anybody with a domain can sign requests. So a signature alone pays only if the account trusts such payers.
    unlisted_signers = models.CharField(
        max_length=4,
        choices=UnlistedSigners.choices,
        default=UnlistedSigners.DENY,
        db_default=UnlistedSigners.DENY,
        help_text="Whether signers that are no listed crawlers pay at the edge without a licence or a wallet.",
    )
    visitor_addresses = models.CharField(
        max_length=9,
        choices=VisitorAddresses.choices,
        default=VisitorAddresses.TRUNCATED,
        db_default=VisitorAddresses.TRUNCATED,
        help_text="How addresses of people are stored: truncated to /24 (IPv6: /48), or in full.",
    )
    time_zone = models.CharField(
        max_length=64,
        default="UTC",
        db_default="UTC",
        help_text="Months of statements, refills and fees begin by its clock.",
    )
    # Months that had begun before the latest change of time zone stay in the former one, until `time_zone_since`.
    former_time_zone = models.CharField(max_length=64, null=True, editable=False)
    time_zone_since = models.DateTimeField(null=True, editable=False)
    currency = models.CharField(max_length=3, default="USD", db_default="USD", help_text="The account's own currency.")
    address = models.CharField(
        "address on statements",
        max_length=500,
        null=True,
        blank=True,
        help_text="Printed below the name, in as many lines, such as the street, the city and the VAT id.",
    )
    created = models.DateTimeField(default=timezone.now, editable=False)
    epoch = models.BigIntegerField(default=0, editable=False)  # see accounts.plans.epochs
    suspended_at = models.DateTimeField(null=True, blank=True, editable=False)  # its keys are refused from then on
    # demo accounts can be deleted with their ledger
    is_demo = models.BooleanField(null=True, blank=True, editable=False)
    # Whether the audit log and events name customers by reference (accounts.history), which the version before cannot
    # read. False in accounts of that version until its history is moved (licensing.customers.history).
    seals_history = models.BooleanField(default=True, db_default=False, editable=False)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(
                name="enterprise_has_its_own_limits",
                # A CHECK accepts unknown results such as NULL >= 1, so null is excluded separately.
                condition=Q(plan=Plan.ENTERPRISE, requests_per_minute__gte=1, requests_per_day__gte=1)
                & Q(requests_per_minute__isnull=False, requests_per_day__isnull=False)
                | (~Q(plan=Plan.ENTERPRISE) & Q(requests_per_minute=None, requests_per_day=None)),
                violation_error_message="An enterprise account, and no other, has limits of its own.",
            ),
            models.CheckConstraint(
                name="enterprise_may_have_its_own_edge_limits",
                condition=(Q(edge_requests_per_minute=None) | Q(plan=Plan.ENTERPRISE, edge_requests_per_minute__gte=1))
                & (Q(edge_requests_per_day=None) | Q(plan=Plan.ENTERPRISE, edge_requests_per_day__gte=1)),
                violation_error_message="Only an enterprise account has edge limits of its own, of at least 1.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raise ValidationError for an unknown time zone or currency."""
        errors = {}
        parsers: dict[str, Callable[[str], str]] = {"time_zone": parse_zone_name, "currency": parse_currency}
        for name, parse in parsers.items():
            try:
                parse(getattr(self, name))
            except ValueError as error:
                errors[name] = str(error)
        if "time_zone" not in errors and not knows_time_zone(self.time_zone):
            errors["time_zone"] = "PostgreSQL does not know this time zone. Update its time zones, or choose another."
        if errors:
            raise ValidationError(errors)

    @property
    def zone(self) -> tzinfo:
        return zone_named(self.time_zone)

    @property
    def months(self) -> Months:
        """The months of its statements, fees and reports."""
        former = None if self.former_time_zone is None else zone_named(self.former_time_zone)
        return Months(self.zone, former, self.time_zone_since)

    @property
    def shown_unknown_host(self) -> str:
        return self.unknown_host or Unknown.ALLOW.value

    @property
    def limits(self) -> tuple[int, int]:
        """Return the requests allowed per minute and per day."""
        if self.plan == Plan.ENTERPRISE:
            return self.requests_per_minute or 0, self.requests_per_day or 0
        return PLAN_LIMITS[self.plan]

    @property
    def edge_limits(self) -> tuple[int, int]:
        """Return the edge requests included per minute and per day. More are answered too."""
        per_minute, per_day = self.limits
        return (
            self.edge_requests_per_minute or per_minute * EDGE_MULTIPLE,
            self.edge_requests_per_day or per_day * EDGE_MULTIPLE,
        )

    def audited(self) -> dict[str, object]:
        return {
            "name": self.name,
            "plan": str(self.plan),
            "requestsPerMinute": self.requests_per_minute,
            "requestsPerDay": self.requests_per_day,
            "edgeRequestsPerMinute": self.edge_requests_per_minute,
            "edgeRequestsPerDay": self.edge_requests_per_day,
            "unknownHost": str(self.shown_unknown_host),
            "unlistedSigners": str(self.unlisted_signers),
            "visitorAddresses": str(self.visitor_addresses),
            "timeZone": self.time_zone,
            "currency": self.currency,
            "address": self.address,
            "suspendedAt": render_timestamp(self.suspended_at),
        }


class EpochChange(models.Model):
    """What changed at an epoch of an account (see accounts.plans.epochs). Rows older than some minutes are deleted."""

    pk = models.CompositePrimaryKey("account_id", "epoch")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, related_name="+")
    epoch = models.BigIntegerField()
    names = models.JSONField(null=True)  # null means everything
    created = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.account_id} {self.epoch}"
