"""What may be accessed, and on which terms: content, policies and their revisions, requesters."""

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Account
from config.api.amounts import WIDE, AmountField
from config.api.ids import IdField
from config.api.numbers import NumbersOfTheApi
from config.api.timestamps import render_timestamp
from licensing import lookups  # noqa: F401 - registers the lookup `has`


class ContentType(models.TextChoices):
    ARTICLE = "article"
    REPORT = "report"
    IMAGE = "image"
    DATASET = "dataset"
    VIDEO = "video"


class Status(models.TextChoices):
    ACTIVE = "active"
    ARCHIVED = "archived"


class Action(models.TextChoices):
    ALLOW = "allow"
    DENY = "deny"


class OwnedManager(models.Manager):
    def of(self, account_id: str) -> models.QuerySet:
        """What the account has and has not deleted."""
        return self.filter(account_id=account_id, deleted_at=None)


class Policy(models.Model):
    """An ordered list of rules with a default action. A deleted one stays for the decisions that were made on it."""

    id = IdField("pol", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="policies")
    name = models.CharField(max_length=255)
    description = models.TextField(null=True, blank=True)
    rules = models.JSONField(default=list, blank=True)
    default_action = models.CharField(max_length=5, choices=Action.choices, default=Action.DENY)
    version = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = OwnedManager()

    class Meta:
        verbose_name_plural = "policies"
        indexes = [
            models.Index(
                fields=["account", "-created", "-id"], condition=Q(deleted_at=None), name="policies_newest_first"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def audited(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "rules": self.rules,
            "defaultAction": str(self.default_action),
            "version": self.version,
        }


class PolicyRevision(models.Model):
    """A policy as it was from one version to the next; written with it, never changed."""

    id = IdField("rev", primary_key=True)
    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=255)
    description = models.TextField(null=True)
    rules = models.JSONField()
    default_action = models.CharField(max_length=5, choices=Action.choices)
    created = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["policy", "version"], name="one_revision_per_version")]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"


class Content(models.Model):
    """An item that a publisher owns. A deleted one stays for the analytics that know of it."""

    id = IdField("cnt", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="content")
    external_id = models.CharField(max_length=255, null=True, blank=True)
    title = models.CharField(max_length=500)
    type = models.CharField(max_length=10, choices=ContentType.choices, default=ContentType.ARTICLE)
    source = models.TextField(null=True, blank=True)
    source_key = models.BinaryField(max_length=16, null=True, editable=False)  # see licensing.sources
    policy = models.ForeignKey(
        Policy, on_delete=models.PROTECT, null=True, blank=True, related_name="content", db_index=False
    )
    author = models.CharField(max_length=255, null=True, blank=True)
    published_at = models.DateField(null=True, blank=True)
    category = models.CharField(max_length=255, null=True, blank=True)
    word_count = models.PositiveIntegerField(null=True, blank=True)
    metadata_tags = models.JSONField(null=True, blank=True)
    metadata_extra = models.JSONField(default=dict, blank=True, decoder=NumbersOfTheApi)
    tags = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = OwnedManager()

    class Meta:
        verbose_name = "content item"
        verbose_name_plural = "content items"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"], condition=Q(deleted_at=None), name="external_id_is_unique"
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created", "-id"], condition=Q(deleted_at=None), name="content_newest_first"
            ),
            models.Index(fields=["account", "source_key"], condition=Q(deleted_at=None), name="content_by_source"),
            # Counted by it alone: the rows are not looked at.
            models.Index(fields=["policy"], condition=Q(deleted_at=None), name="content_of_policy"),
        ]

    def __str__(self) -> str:
        return self.title

    def audited(self) -> dict[str, Any]:
        return {
            "externalId": self.external_id,
            "title": self.title,
            "type": str(self.type),
            "source": self.source,
            "policyId": self.policy_id,
            **{f"metadata.{name}": value for name, value in known_metadata(self).items()},
            "tags": self.tags,
            "status": str(self.status),
        }


class Requester(models.Model):
    """Somebody who asks for content: the caller's own id and a name. Comes into being at the first check."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False)  # the constraint's begins with it
    requester_id = models.CharField(max_length=255)
    name = models.CharField(max_length=255, null=True, blank=True)
    # A new one with every change of its licences (licensing.compiled_licenses); null for one that never had any.
    licenses_revision = models.UUIDField(null=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "requester_id"], name="requester_id_is_unique")]

    def __str__(self) -> str:
        return self.name or self.requester_id


class LicenseStatus(models.TextChoices):
    ACTIVE = "active"
    REVOKED = "revoked"


class License(models.Model):
    """What a requester has been granted: a tier, for some items or all, from one moment to another, at a price.

    The scope is a union: an item is covered if its id, one of its tags or its policy is named, or if nothing is.
    """

    id = IdField("lic", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="licenses")
    requester = models.ForeignKey(Requester, on_delete=models.PROTECT, related_name="licenses")
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
    status = models.CharField(max_length=10, choices=LicenseStatus.choices, default=LicenseStatus.ACTIVE)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(editable=False)

    class Meta:
        verbose_name = "licence"
        indexes = [models.Index(fields=["account", "-created", "-id"], name="licenses_newest_first")]

    def __str__(self) -> str:
        return f"{self.license_type} ({self.pk})"

    def state(self, now: datetime) -> str:
        """`revoked`, `expired` or `active`; what has not begun yet is active too."""
        if self.status == LicenseStatus.REVOKED:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"

    def audited(self) -> dict[str, Any]:
        return {
            "requesterId": self.requester.requester_id,
            "requesterName": self.requester.name,
            "licenseType": self.license_type,
            "contentIds": self.content_ids,
            "tags": self.tags,
            "policyIds": self.policy_ids,
            "startsAt": render_timestamp(self.starts_at),
            "expiresAt": render_timestamp(self.expires_at),
            "price": spelled(self.price_amount, self.price_currency),
            "pricePerAccess": spelled(self.access_amount, self.access_currency),
            "status": str(self.status),
            "revokedAt": render_timestamp(self.revoked_at),
        }


def spelled(amount: Any, currency: str | None) -> str | None:
    """A price in text, as in `0.05 USD`."""
    return None if amount is None else f"{amount.normalize(WIDE) or 0:f} {currency}"


def known_metadata(content: Content) -> dict[str, Any]:
    """`metadata` as the API shows it: the attributes that are set, then the further keys."""
    known = {
        "author": content.author,
        "publishedAt": content.published_at.isoformat() if content.published_at else None,
        "category": content.category,
        "tags": content.metadata_tags,
        "wordCount": content.word_count,
    }
    return {name: value for name, value in known.items() if value is not None} | content.metadata_extra
