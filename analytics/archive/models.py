from django.db import models

from accounts.models import Account
from analytics.archive.layout import file_uri


class ArchivedMonth(models.Model):
    """A month of an account's decisions in the archive, or on its way there."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_index=False, related_name="+")
    month = models.DateField()  # its first day
    is_current = models.BooleanField()  # False if decisions have changed since the copy began
    rows = models.BigIntegerField(null=True)  # null until the copy is verified
    checksum = models.BigIntegerField(null=True)
    # The name of its file (analytics.archive.layout); empty if it was copied before the name was stored.
    file = models.CharField(max_length=32, db_default="", default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "month"], name="one_archived_month_per_account")]

    def __str__(self) -> str:
        return f"{self.account_id} {self.month:%Y-%m}"

    @property
    def uri(self) -> str:
        return file_uri(self.account_id, self.month, self.file)


class ArchiveHorizon(models.Model):
    """A single row after the first drop: only the archive has the decisions before `begin`."""

    begin = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.begin}"
