"""Rollups of the events. With the pending rows (analytics.models.pending) they are exact and current.

A report over any window reads a row per item or requester and year (its months are columns) for the whole months, and
a row per item or requester and month (its days are columns) for the edges: what a year costs hangs on how many there
are, not on how often they asked. A column has the running total since the first of its row, so that any stretch is the
difference of two. All times are UTC.

In their tables the keys come first and the last month or day next (migration 0012): PostgreSQL takes a row apart from
its first column up to the last one asked for, and a window up to now asks for the last days.
"""

from typing import Any

from django.db import models

from accounts.models import Account

MONTHS = [f"m{month}" for month in range(1, 13)]
DAYS = [f"d{day}" for day in range(1, 32)]


def counts(names: list[str], field: Any) -> Any:
    """A base of models that have a count of each name."""
    fields = {name: field(db_default=0) for name in names}
    meta = type("Meta", (), {"abstract": True})
    return type("Counts", (models.Model,), {"__module__": __name__, "Meta": meta, **fields})


class HourlyUsage(models.Model):
    """How many decisions an account got in an hour with one outcome: a denial's reason, or `""` for allowed ones."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    hour = models.DateTimeField()
    outcome = models.CharField(max_length=30, blank=True)
    requests = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "hour", "outcome"], name="usage_of_hour")]

    def __str__(self) -> str:
        return f"{self.hour} {self.outcome or 'allowed'}: {self.requests}"


class Yearly(counts(MONTHS, models.BigIntegerField)):  # type: ignore[misc]
    """Decisions from the beginning of a calendar year to the end of each month."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    year = models.PositiveSmallIntegerField()
    allowed = models.BigIntegerField()  # of the whole year

    class Meta:
        abstract = True


class Monthly(counts(DAYS, models.IntegerField)):  # type: ignore[misc]
    """Decisions from the beginning of a month to the end of each day. `month` is year × 12 + month − 1."""

    account = models.ForeignKey(Account, on_delete=models.CASCADE, db_constraint=False, db_index=False)
    month = models.PositiveIntegerField()

    class Meta:
        abstract = True


class OfContent(models.Model):
    content = models.ForeignKey("licensing.Content", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)

    class Meta:
        abstract = True


class OfRequester(models.Model):
    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )

    class Meta:
        abstract = True


class ContentYear(Yearly, OfContent):  # type: ignore[misc]
    pk = models.CompositePrimaryKey("account_id", "content_id", "year")

    def __str__(self) -> str:
        return f"{self.content_id} in {self.year}: {self.m12}"


class ContentMonth(Monthly, OfContent):  # type: ignore[misc]
    pk = models.CompositePrimaryKey("account_id", "month", "content_id")

    def __str__(self) -> str:
        return f"{self.content_id} in month {self.month}"


class RequesterYear(Yearly, OfRequester):  # type: ignore[misc]
    pk = models.CompositePrimaryKey("account_id", "requester_id", "year")

    def __str__(self) -> str:
        return f"{self.requester_id} in {self.year}: {self.m12}"


class RequesterMonth(Monthly, OfRequester):  # type: ignore[misc]
    pk = models.CompositePrimaryKey("account_id", "month", "requester_id")

    def __str__(self) -> str:
        return f"{self.requester_id} in month {self.month}"
