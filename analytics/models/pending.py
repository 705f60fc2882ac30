"""Decisions and charges that are not in the rollups yet, on PostgreSQL (analytics.rollups.roll_up).

Adding to a row per item and requester with each batch cost as much as storing its events, and made processes wait for
each other where they asked for the same. So a batch adds one row here, with a list of its decisions, and every few
seconds all rows are rolled up and deleted, in one transaction: a reader that adds both up sees every
decision once. On SQLite, which has one writer and no round trips, rollups are added to at once and these stay empty.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from accounts.models import Account
from kit.values.ids import IdField


class Pending(models.Model):
    """Of one account and UTC hour. The n-th elements of all lists are of one decision."""

    account = models.ForeignKey(Account, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    hour = models.DateTimeField()
    recorded = models.DateTimeField(db_default=Now())
    contents = ArrayField(IdField("cnt"))
    requesters = ArrayField(models.BigIntegerField())

    class Meta:
        abstract = True


class RecentUsage(Pending):
    """Decisions; an outcome as in HourlyUsage."""

    outcomes = ArrayField(models.TextField())

    def __str__(self) -> str:
        return f"{len(self.outcomes)} decisions in {self.hour}"


class RecentRevenue(Pending):
    """Charges, in millionths of the currency's unit."""

    currency = models.CharField(max_length=3)
    amounts = ArrayField(models.BigIntegerField())
    license_types = ArrayField(models.TextField())

    def __str__(self) -> str:
        return f"{len(self.amounts)} charges in {self.hour}"
