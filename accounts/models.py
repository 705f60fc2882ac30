"""Accounts, their plans, and their API keys."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.events.models import EndNotice, Event
from accounts.webhooks.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from kit.values.ids import AnyIdField, IdField
from kit.values.numbers import NumbersOfTheApi
from kit.values.timestamps import render_timestamp

# For Django, which looks for an app's models here; the rest of the code imports these from where they are.
__all__ = ["EndNotice", "Event", "WebhookAttempt", "WebhookDelivery", "WebhookEndpoint"]


class Plan(models.TextChoices):
    STARTER = "starter"
    PROFESSIONAL = "professional"
    ENTERPRISE = "enterprise"


# Requests per minute and per day (docs/api-guide.md, Limits). An enterprise account carries its own.
PLAN_LIMITS: dict[str, tuple[int, int]] = {
    Plan.STARTER: (60, 10_000),
    Plan.PROFESSIONAL: (300, 100_000),
}


class Account(models.Model):
    """A publisher: the owner of everything below it. Nothing crosses accounts."""

    id = IdField("acc", primary_key=True)
    name = models.CharField(max_length=255)
    plan = models.CharField(max_length=20, choices=Plan.choices, default=Plan.STARTER)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Enterprise only.")
    requests_per_day = models.PositiveIntegerField(null=True, blank=True, help_text="Enterprise only.")
    created = models.DateTimeField(default=timezone.now, editable=False)
    epoch = models.BigIntegerField(default=0, editable=False)  # see accounts.epochs
    suspended_at = models.DateTimeField(null=True, blank=True, editable=False)  # from then on its keys are refused
    is_demo = models.BooleanField(null=True, blank=True, editable=False)  # it can be removed with its ledger

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(
                name="enterprise_has_its_own_limits",
                # NULL >= 1 is unknown, which a CHECK lets pass: hence the other half.
                condition=Q(plan=Plan.ENTERPRISE, requests_per_minute__gte=1, requests_per_day__gte=1)
                & Q(requests_per_minute__isnull=False, requests_per_day__isnull=False)
                | (~Q(plan=Plan.ENTERPRISE) & Q(requests_per_minute=None, requests_per_day=None)),
                violation_error_message="An enterprise account, and no other, has limits of its own.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def limits(self) -> tuple[int, int]:
        """Requests per minute and per day."""
        if self.plan == Plan.ENTERPRISE:
            return self.requests_per_minute or 0, self.requests_per_day or 0
        return PLAN_LIMITS[self.plan]

    def audited(self) -> dict[str, object]:
        return {
            "name": self.name,
            "plan": str(self.plan),
            "requestsPerMinute": self.requests_per_minute,
            "requestsPerDay": self.requests_per_day,
            "suspendedAt": render_timestamp(self.suspended_at),
        }


class EpochChange(models.Model):
    """What changed at an epoch of an account (see accounts.epochs). Rows of the last minutes are enough."""

    pk = models.CompositePrimaryKey("account_id", "epoch")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, related_name="+")
    epoch = models.BigIntegerField()
    names = models.JSONField(null=True)  # null: of everything
    created = models.DateTimeField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.account_id} {self.epoch}"


class KeyType(models.TextChoices):
    SECRET = "secret"  # noqa: S105 - the name of a type
    PUBLIC = "public"


class ApiKey(models.Model):
    """A key that authenticates requests. Of its text only a keyed digest and the prefix are kept."""

    id = IdField("key", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=255)
    type = models.CharField(max_length=10, choices=KeyType.choices)
    prefix = models.CharField(max_length=20, editable=False)
    digest = models.BinaryField(max_length=32, unique=True, editable=False)
    permissions = models.JSONField(default=list)
    allowed_ips = models.JSONField(default=list, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
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
            "expiresAt": render_timestamp(self.expires_at),
            "revokedAt": render_timestamp(self.revoked_at),
        }


class IdempotencyRecord(models.Model):
    """The reply to a POST with an Idempotency-Key, committed with what the request wrote."""

    LIFETIME = timedelta(hours=24)

    # Found by account and key alone. With an index of the account as well, PostgreSQL took that one while it had no
    # statistics, and read all records of the account for each key. Nor is the account looked up for each: what is left
    # of a deleted one goes with the others.
    pk = models.CompositePrimaryKey("account_id", "key")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(default=0)
    reply = models.BinaryField(default=bytes)  # sealed: useless without the server's secret
    headers = models.BinaryField(null=True)  # of the reply, sealed too; null where an older version kept it
    created = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.account_id} {self.key[:40]}"

    def has_expired(self, now: datetime) -> bool:
        return now - self.created >= self.LIFETIME


class StaffScope(models.Model):
    """Which accounts a member of staff sees in the admin; without one, none. Superusers see all."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scope")
    all_accounts = models.BooleanField(default=False, help_text="Also those that are yet to come.")
    accounts = models.ManyToManyField(Account, blank=True)

    class Meta:
        verbose_name = "account access"
        verbose_name_plural = "account access"

    def __str__(self) -> str:
        return f"account access of {self.user}"


class SavedFilter(models.Model):
    """A list of the admin as an operator filtered it: what follows the `?` of its address, under a name of theirs."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_filters")
    listed = models.CharField(max_length=100)  # the model, such as "licensing.license"
    name = models.CharField(max_length=60)
    query = models.TextField()

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(fields=["user", "listed", "name"], name="one_saved_filter_of_a_name")]

    def __str__(self) -> str:
        return self.name


class ActorType(models.TextChoices):
    KEY = "key"
    OPERATOR = "operator"
    COMMAND = "command"
    SYSTEM = "system"


class AuditEntry(models.Model):
    """Who changed what, and when (see accounts.audit). Triggers in the database refuse every UPDATE and DELETE.

    Its references carry no constraints: the log must not block, or vanish with, the rows it refers to. Entries of an
    account deleted by SQL stay.
    """

    id = IdField("aud", primary_key=True)
    # None: what belongs to no account, such as an operator's own rights.
    account = models.ForeignKey(
        Account, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True, editable=False
    )
    actor_type = models.CharField(max_length=10, choices=ActorType.choices)
    actor_id = AnyIdField(null=True)  # a key's id, an operator's number, a command's name
    actor_name = models.CharField(max_length=300, null=True)  # as it was then
    action = models.CharField(max_length=60)
    resource_type = models.CharField(max_length=30)
    resource_id = AnyIdField()
    resource_title = models.CharField(max_length=500)  # as it was then
    changes = models.JSONField(decoder=NumbersOfTheApi)  # field → [before, after]
    request_id = models.CharField(max_length=128, null=True)
    address = models.CharField(max_length=45, null=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "audit entry"
        verbose_name_plural = "audit entries"
        default_permissions = ("view",)
        indexes = [
            models.Index(fields=["account", "-created", "-id"], name="audit_newest_first"),
            models.Index(fields=["resource_id", "-created", "-id"], name="audit_of_resource"),
            # What was done to the few keys and policies, among the many items of imports.
            models.Index(fields=["resource_type", "account", "-created", "-id"], name="audit_of_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.resource_title}"


class Authenticator(models.Model):
    """The app whose codes a member of staff signs in with."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="authenticator")
    secret = models.BinaryField()  # sealed: useless without the server's secret
    last_step = models.BigIntegerField()  # of the last code, which works once
    created = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"authenticator of {self.user}"


class RecoveryCode(models.Model):
    """A single-use code for signing in without the authenticator app."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.BinaryField(max_length=32)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"recovery code of {self.user}"
