"""Policies and their revisions."""

from typing import ClassVar

from django.db import models
from django.db.models import Q

from accounts.models import Account
from kit.storage.loading import ApiJSONField
from kit.values.ids import IdField
from kit.values.numbers import NumbersOfTheApi
from licensing.owned import OwnedManager
from licensing.policies.modes import CHOICES, Mode
from licensing.policies.rules import Action

ACTIONS = [(str(action), action.title()) for action in Action]


class Policy(models.Model):
    """An ordered list of rules with a default action. Deleted policies are kept, because decisions refer to them."""

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/policies?externalId=", "/v1/policies?name=")

    id = IdField("pol", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, related_name="policies")
    external_id = models.CharField(max_length=255, null=True, blank=True)
    name = models.CharField(max_length=255)
    description = models.TextField(null=True, blank=True)
    rules = ApiJSONField(default=list, blank=True)
    default_action = models.CharField(max_length=5, choices=ACTIONS, default=Action.DENY.value)
    mode = models.CharField(max_length=10, choices=CHOICES, default=Mode.ENFORCE.value)
    tests = ApiJSONField(default=list, blank=True)
    metadata = models.JSONField(db_default={}, default=dict, blank=True, decoder=NumbersOfTheApi)
    version = models.PositiveIntegerField(default=1, editable=False)
    created = models.DateTimeField(editable=False)
    updated = models.DateTimeField(null=True, editable=False)
    deleted_at = models.DateTimeField(null=True, editable=False)

    objects = OwnedManager()

    class Meta:
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(
                fields=["account", "external_id"],
                condition=Q(deleted_at=None, external_id__isnull=False),
                name="policy_external_id_is_unique",
            )
        ]
        indexes = [
            models.Index(
                fields=["account", "-created", "-id"], condition=Q(deleted_at=None), name="policies_newest_first"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def audited(self) -> dict[str, object]:
        return {
            "externalId": self.external_id,
            "name": self.name,
            "description": self.description,
            "rules": self.rules,
            "defaultAction": str(self.default_action),
            "mode": str(self.mode),
            "tests": self.tests,
            "metadata": self.metadata,
            "version": self.version,
        }


class PolicyRevision(models.Model):
    """The terms of one version of a policy. Created with the version; only erasure of a person changes it."""

    id = IdField("rev", primary_key=True)
    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="revisions")
    version = models.PositiveIntegerField()
    name = models.CharField(max_length=255)
    description = models.TextField(null=True)
    rules = ApiJSONField()
    default_action = models.CharField(max_length=5, choices=ACTIONS)
    mode = models.CharField(max_length=10, choices=CHOICES, default=Mode.ENFORCE.value)
    tests = ApiJSONField(default=list)
    created = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["policy", "version"], name="one_revision_per_version")]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"
