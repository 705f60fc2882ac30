"""Audit entries."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.history.personal_members import PERSONAL
from accounts.history.rows import HistoryRow, Refer
from accounts.plans.models import Account
from kit.storage.loading import QuicklyLoaded
from kit.values.ids import AnyIdField, IdField
from kit.values.numbers import NumbersOfTheApi


class ActorType(models.TextChoices):
    KEY = "key"
    OPERATOR = "operator"
    COMMAND = "command"
    SYSTEM = "system"


NO_VALUES = [None, None]  # before and after a change
IDS = ("requesterId", "into")  # fields with customers' own ids


class AuditEntry(QuicklyLoaded, HistoryRow):
    """An entry of the audit log. Database triggers reject every UPDATE and DELETE.

    Its references have no constraints: the log must neither block nor vanish with the rows it refers to. Entries of an
    account deleted by SQL remain.
    """

    concealed: ClassVar[tuple[str, ...]] = ("resource_id", "resource_title", "changes")

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
            # Those of the version before, if they may concern customers.
            models.Index(
                fields=["account", "id"],
                condition=Q(sealed=None, resource_type__in=[*PERSONAL, "event"]),
                name="audit_unsealed",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.resource_title}"

    def concerns_customers(self) -> bool:
        return self.resource_type in PERSONAL or self.resource_type == "event"

    def remainder(self, refer: Refer) -> dict[str, object]:
        owner = refer(self.owner)
        changes = dict(self.changes)
        for name in changes.keys() & PERSONAL.get(self.resource_type, {}).keys():
            changes[name] = NO_VALUES
        for name in changes.keys() & set(IDS):
            changes[name] = [refer(id) for id in changes[name]]
        kept: dict[str, object] = {"changes": changes}
        match self.resource_type:
            case "requester":
                kept["resource_id"] = kept["resource_title"] = refer(self.resource_id)
            case "license_client":
                kept["resource_title"] = owner
            case "portal_session":
                kept["resource_title"] = "portal session"
            case "event" if self.resource_title.startswith("requester."):
                event_type, _, id = self.resource_title.partition(" ")
                kept["resource_title"] = f"{event_type} {refer(id)}"
        return kept


class Redaction(models.Model):
    """A row that exists only inside a transaction that redacts (accounts.auditing.redaction)."""

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.pk}"
