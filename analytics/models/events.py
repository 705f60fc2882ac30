"""Decisions, and counters of rate limits in rules."""

from typing import ClassVar

from django.db import models

from accounts.models import Account
from kit.storage.loading import QuicklyLoaded, QuicklyReadJSONField
from kit.storage.references import Reference
from kit.values.ids import IdField


class AccessEvent(QuicklyLoaded, models.Model):
    """A decision with the facts it was based on. Never changed.

    Its references have no database constraints: the log must neither block nor vanish with the rows it refers to.
    """

    searched_by: ClassVar[tuple[str, ...]] = ("/v1/access/decisions?requesterId=",)

    id = IdField("dec", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    content = Reference("licensing.Content", models.DO_NOTHING)
    requester = Reference("licensing.Requester", models.DO_NOTHING, verbose_name="customer")
    policy = Reference("licensing.Policy", models.DO_NOTHING, null=True)
    policy_version = models.PositiveIntegerField(null=True)
    allowed = models.BooleanField()
    reason = models.CharField(max_length=30, null=True)  # null if allowed
    rule_index = models.PositiveSmallIntegerField(null=True)  # the rule that matched, if any
    permission = models.CharField(max_length=64, null=True)  # the requested permission
    facts = QuicklyReadJSONField()  # see licensing.policies.facts
    rate_remaining = models.BigIntegerField(null=True)  # what the rule's limit had left after this decision
    rate_reset = models.BigIntegerField(null=True)  # Unix seconds
    created = models.DateTimeField()
    observed = models.CharField(max_length=30, null=True)  # in observe mode: why it would have been denied

    class Meta:
        verbose_name = "decision"
        # Ascending, although lists read backwards: appending to an index leaves full pages, prepending half-full ones.
        # Without the id, which only orders decisions of the same moment: equal keys are stored once.
        indexes = [
            models.Index(fields=["account", "created"], name="events_newest_first"),
            models.Index(fields=["content", "created"], name="events_of_content"),
            models.Index(fields=["requester", "created"], name="events_of_requester"),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {'allowed' if self.allowed else self.reason}"


class EventHorizon(models.Model):
    """A single row after the first purge: events recorded before `begin` may be deleted."""

    begin = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.begin}"


class RuleUsage(models.Model):
    """How much of a rule's rate limit a requester has used since `window_start`."""

    requester = Reference("licensing.Requester", models.DO_NOTHING)
    policy = Reference("licensing.Policy", models.DO_NOTHING)
    rule = models.BinaryField(max_length=16)  # the rule's fingerprint
    window_start = models.BigIntegerField()  # Unix seconds
    used = models.BigIntegerField()
    # About the last write: the limit in force, the number of claims in that batch, and how many were granted.
    allowance = models.BigIntegerField()
    claimed = models.BigIntegerField()
    granted = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "policy", "rule"], name="one_count_per_rule_and_requester")
        ]

    def __str__(self) -> str:
        return f"{self.used} since {self.window_start}"
