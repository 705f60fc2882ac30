"""Audit entries."""

from django.db import models
from django.utils import timezone

from accounts.plans.models import Account
from kit.storage.loading import QuicklyLoaded
from kit.values.ids import AnyIdField, IdField
from kit.values.numbers import NumbersOfTheApi


class ActorType(models.TextChoices):
    KEY = "key"
    OPERATOR = "operator"
    COMMAND = "command"
    SYSTEM = "system"


class AuditEntry(QuicklyLoaded, models.Model):
    """An entry of the audit log. Database triggers reject every UPDATE and DELETE.

    Its references have no constraints: the log must neither block nor vanish with the rows it refers to. Entries of an
    account deleted by SQL remain.
    """

    id = IdField("aud", primary_key=True)
    # None for changes outside any account, such as an operator's own permissions.
    account = models.ForeignKey(
        Account, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True, editable=False
    )
    actor_type = models.CharField(max_length=10, choices=ActorType.choices)
    actor_id = AnyIdField(null=True)  # a key's id, an operator's number or a command's name
    actor_name = models.CharField(max_length=300, null=True)  # at the time
    action = models.CharField(max_length=60)
    resource_type = models.CharField(max_length=30)
    resource_id = AnyIdField()
    resource_title = models.CharField(max_length=500)  # at the time
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
            # For changes to the few keys and policies among many imported items.
            models.Index(fields=["resource_type", "account", "-created", "-id"], name="audit_of_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.resource_title}"


class Redaction(models.Model):
    """A row that exists only inside a transaction that redacts (accounts.auditing.redaction)."""

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.pk}"
