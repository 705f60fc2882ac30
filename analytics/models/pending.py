"""Decisions and entries of the ledger that are not yet in the rollups, on PostgreSQL (analytics.rollups.roll_up).

Updating a row per item and requester in each batch cost as much as storing its events, and made processes wait for
each other. So a batch appends one row with a list of its decisions; every few seconds, all rows are added to the
rollups and deleted in one transaction. Readers that add both up see each decision once. SQLite, with one writer and no
round trips, updates rollups at once and leaves these tables empty.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from accounts.models import Account
from analytics.models.usage import Totals
from kit.storage.references import Reference
from kit.values.ids import IdField


class Pending(Totals):
    """Decisions of one account in one UTC hour, as parallel lists."""

    account = Reference(Account, models.DO_NOTHING)
    hour = models.DateTimeField()
    recorded = models.DateTimeField(db_default=Now())
    contents = ArrayField(IdField("cnt"))
    requesters = ArrayField(models.BigIntegerField())

    class Meta:
        abstract = True


class RecentUsage(Pending):
    """Pending decisions; outcomes as in HourlyUsage."""

    outcomes = ArrayField(models.TextField())


class RecentRevenue(Pending):
    """Pending entries of the ledger, in millionths of the currency unit.

    Their lists have null for entries without an item or requester, and `""` for those without a licence type.
    """

    currency = models.CharField(max_length=3)
    amounts = ArrayField(models.BigIntegerField())
    license_types = ArrayField(models.TextField())
