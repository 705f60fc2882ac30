"""The manager of what belongs to an account and is deleted by being marked so."""

from django.db import models


class OwnedManager(models.Manager):
    def kept(self) -> models.QuerySet:
        """What is not deleted."""
        return self.filter(deleted_at=None)

    def of(self, account_id: str) -> models.QuerySet:
        """What the account has and has not deleted."""
        return self.kept().filter(account_id=account_id)
