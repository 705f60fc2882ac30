"""Decisions, and the counters of rules' limits."""

from django.db import models

from accounts.models import Account
from kit.values.ids import IdField


class AccessEvent(models.Model):
    """A decision as it was answered, with the facts it was made on. Never changed.

    Its references carry no database constraints: the log must not block, or vanish with, the rows it refers to.
    """

    id = IdField("dec", primary_key=True)
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    content = models.ForeignKey("licensing.Content", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    policy = models.ForeignKey(
        "licensing.Policy", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    policy_version = models.PositiveIntegerField(null=True)
    allowed = models.BooleanField()
    reason = models.CharField(max_length=30, null=True)  # null if allowed
    rule_index = models.PositiveSmallIntegerField(null=True)  # the rule that matched; null for none
    permission = models.CharField(max_length=64, null=True)  # the one asked for
    facts = models.JSONField()  # licensing.policies.facts says which
    rate_remaining = models.BigIntegerField(null=True)  # of the rule's limit, after this decision
    rate_reset = models.BigIntegerField(null=True)  # Unix seconds
    created = models.DateTimeField()
    observed = models.CharField(max_length=30, null=True)  # why it would have been denied, if it had been enforced

    class Meta:
        verbose_name = "decision"
        # Ascending, though lists read them backwards: what is added at the end of an index leaves full pages behind,
        # what is added at its beginning leaves half-full ones. And without the id, which orders the few decisions of
        # one moment: what is alike is kept once.
        indexes = [
            models.Index(fields=["account", "created"], name="events_newest_first"),
            models.Index(fields=["content", "created"], name="events_of_content"),
            models.Index(fields=["requester", "created"], name="events_of_requester"),
        ]

    def __str__(self) -> str:
        return f"{self.pk} {'allowed' if self.allowed else self.reason}"


class EventHorizon(models.Model):
    """One row, once events have been purged: what was recorded before `begin` may be gone."""

    begin = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.begin}"


class RuleUsage(models.Model):
    """How much of a rule's rate limit a requester's recorded decisions have used since `window_start`."""

    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    policy = models.ForeignKey("licensing.Policy", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    rule = models.BinaryField(max_length=16)  # the fingerprint of the rule
    window_start = models.BigIntegerField()  # Unix seconds
    used = models.BigIntegerField()
    # The last write: the limit then in force, how many decisions recorded together claimed it, how many had room.
    allowance = models.BigIntegerField()
    claimed = models.BigIntegerField()
    granted = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["requester", "policy", "rule"], name="one_count_per_rule_and_requester")
        ]

    def __str__(self) -> str:
        return f"{self.used} since {self.window_start}"
