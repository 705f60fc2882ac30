"""The audit log's entries."""

from django.db import models
from django.utils import timezone

from accounts.plans.models import Account
from kit.values.ids import AnyIdField, IdField
from kit.values.numbers import NumbersOfTheApi


class ActorType(models.TextChoices):
    KEY = "key"
    OPERATOR = "operator"
    COMMAND = "command"
    SYSTEM = "system"


class AuditEntry(models.Model):
    """Who changed what, and when. Database triggers refuse every UPDATE and DELETE.

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
