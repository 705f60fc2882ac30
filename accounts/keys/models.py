"""API keys, and the SQL that reads them with their accounts (accounts.keys.authentication)."""

from django.db import models
from django.utils import timezone

from accounts.plans.models import Account
from kit.values.ids import IdField
from kit.values.timestamps import render_timestamp

ALL = "*"  # the permission that includes all others


class KeyType(models.TextChoices):
    SECRET = "secret"  # noqa: S105 - the name of a type
    PUBLIC = "public"


class ApiKey(models.Model):
    """An API key. Only a keyed digest and the prefix of its text are stored."""

    id = IdField("key", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=255)
    type = models.CharField(max_length=10, choices=KeyType.choices)
    prefix = models.CharField(max_length=20, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    permissions = models.JSONField(default=list)
    allowed_ips = models.JSONField(default=list, blank=True)
    # Hosts that it may ask about at the edge; empty means any. Has a database default for processes of the previous
    # version.
    allowed_hosts = models.JSONField(default=list, db_default=[], blank=True)
    rate_limit = models.JSONField(null=True, blank=True)  # its own, below the plan's (accounts.keys.bounds)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Proxies that were refused with it (accounts.keys.callers): since when without a use, when last, and why then.
    refused_since = models.DateTimeField(null=True, blank=True, editable=False)
    refused_at = models.DateTimeField(null=True, blank=True, editable=False)
    refusal = models.CharField(max_length=255, null=True, blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = "API key"
        indexes = [models.Index(fields=["account", "-created_at", "-id"], name="api_keys_newest_first")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def audited(self) -> dict[str, object]:
        return {
            "name": self.name,
            "type": str(self.type),
            "prefix": self.prefix,
            "permissions": self.permissions,
            "allowedIps": self.allowed_ips,
            "allowedHosts": self.allowed_hosts,
            "rateLimit": self.rate_limit,
            "expiresAt": render_timestamp(self.expires_at),
            "revokedAt": render_timestamp(self.revoked_at),
        }


class PepperFingerprint(models.Model):
    """The fingerprint of the API_KEY_PEPPER with which this database's keys were made: one row at most."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    fingerprint = models.CharField(max_length=64)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_pepper_fingerprint")]

    def __str__(self) -> str:
        return self.fingerprint[:8]
