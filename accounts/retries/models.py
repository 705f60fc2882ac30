"""Replies kept for retries with an Idempotency-Key."""

from datetime import datetime, timedelta

from django.db import models

from accounts.plans.models import Account


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
