"""The manager of what belongs to an account and is deleted by being marked so."""

from django.db import models


class OwnedManager(models.Manager):
    def of(self, account_id: str) -> models.QuerySet:
        """What the account has and has not deleted."""
        return self.filter(account_id=account_id, deleted_at=None)
