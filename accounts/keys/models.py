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


# The columns of keys and accounts from which grants are built.
KEY_COLUMNS = (
    "id", "name", "type", "prefix", "permissions", "allowed_ips", "allowed_hosts", "rate_limit", "expires_at",
    "revoked_at", "last_used_at",
)  # fmt: skip
ACCOUNT_COLUMNS = (
    "id", "plan", "requests_per_minute", "requests_per_day", "edge_requests_per_minute", "edge_requests_per_day",
    "suspended_at", "unlisted_signers", "visitor_addresses",
)  # fmt: skip
NAMES = [f"api_key.{column}" for column in KEY_COLUMNS] + [f"account.{column}" for column in ACCOUNT_COLUMNS]
JSON_NAMES = ("api_key.permissions", "api_key.allowed_ips", "api_key.allowed_hosts", "api_key.rate_limit")
ON_SQLITE = {"api_key.id": "hex(api_key.id)", "account.id": "hex(account.id)"}
ON_SQLITE |= {name: f"json({name})" for name in JSON_NAMES}
# Digests in hex, epochs, and each key with its account as one JSON array, the cache key for parsed grants.
FIND = """SELECT {digest}, account.epoch, {array}
  FROM accounts_apikey api_key JOIN accounts_account account ON account.id = api_key.account_id
  WHERE api_key."""
POSTGRESQL = FIND.format(digest="encode(api_key.digest, 'hex')", array=f"json_build_array({', '.join(NAMES)})::text")
SQLITE = FIND.format(
    digest="hex(api_key.digest)", array=f"json_array({', '.join(ON_SQLITE.get(name, name) for name in NAMES)})"
)
FIND_BY_DIGEST_SQL = POSTGRESQL + "digest = ANY(%s::bytea[])"
