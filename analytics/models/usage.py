"""Rollups of the events. Together with pending rows (analytics.models.pending) they are exact and current.

A report reads one row per item or requester and year (with a column per month) for whole months, and one per month
(with a column per day) for the edges. So its cost depends on their number, not on their activity. Columns hold running
totals since the row's start, so any stretch is the difference of two. All times are UTC.

The tables list keys first and the last month or day next (migration 0012): PostgreSQL decodes a row from its first
column to the last one used, and windows up to now use the last days.
"""

from django.db import models

from accounts.models import Account
from kit.storage.references import Reference

MONTHS = [f"m{month}" for month in range(1, 13)]
DAYS = [f"d{day}" for day in range(1, 32)]


def add_counts(model: type[models.Model], names: list[str], field: type[models.Field]) -> None:
    """Add a count field for each name to an abstract model, before others derive from it."""
    for name in names:
        model.add_to_class(name, field(db_default=0))


class Totals(models.Model):
    """Base of sums that a roll-up adds up. Operators do not see the rows."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class HourlyUsage(Totals):
    """An account's decisions in an hour with one outcome: a denial's reason, or `""` if allowed."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    hour = models.DateTimeField()
    outcome = models.CharField(max_length=30, blank=True)
    requests = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "hour", "outcome"], name="usage_of_hour")]


class Yearly(Totals):
    """Running totals of decisions from the start of a calendar year to the end of each month."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    year = models.PositiveSmallIntegerField()
    allowed = models.BigIntegerField()  # in the whole year

    class Meta:
        abstract = True


class Monthly(Totals):
    """Running totals of decisions from the start of a month to the end of each day.

    `month` is year × 12 + month − 1.
    """

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    month = models.PositiveIntegerField()

    class Meta:
        abstract = True


add_counts(Yearly, MONTHS, models.BigIntegerField)
add_counts(Monthly, DAYS, models.IntegerField)


class OfContent(models.Model):
    content = Reference("licensing.Content", models.DO_NOTHING)

    class Meta:
        abstract = True


class OfRequester(models.Model):
    requester = Reference("licensing.Requester", models.DO_NOTHING)

    class Meta:
        abstract = True


class ContentYear(Yearly, OfContent):
    pk = models.CompositePrimaryKey("account_id", "content_id", "year")


class ContentMonth(Monthly, OfContent):
    pk = models.CompositePrimaryKey("account_id", "month", "content_id")


class RequesterYear(Yearly, OfRequester):
    pk = models.CompositePrimaryKey("account_id", "requester_id", "year")


class RequesterMonth(Monthly, OfRequester):
    pk = models.CompositePrimaryKey("account_id", "month", "requester_id")
