"""Stored replies for retries with an Idempotency-Key."""

from datetime import datetime, timedelta

from django.db import models

from accounts.plans.models import Account


class IdempotencyRecord(models.Model):
    """The reply to a POST with an Idempotency-Key, committed together with the request's writes."""

    LIFETIME = timedelta(hours=24)
    PARTIAL = 102  # status of a reply that covers only a part of the work; clients never get it

    # Looked up by account and key only. With a separate index on the account, PostgreSQL without statistics chose that
    # one and read all records of the account. The missing constraint saves a lookup per request; records of a deleted
    # account are purged with the others.
    pk = models.CompositePrimaryKey("account_id", "key")
    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    key = models.CharField(max_length=255)
    fingerprint = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(default=0)
    reply = models.BinaryField(default=bytes)  # encrypted with the server's secret
    headers = models.BinaryField(null=True)  # of the reply, encrypted; null if stored by an older version
    created = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.account_id} {self.key[:40]}"

    def has_expired(self, now: datetime) -> bool:
        return now - self.created >= self.LIFETIME
