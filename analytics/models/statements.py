"""Statements: what the ledger says of a requester, a UTC month and a currency.

An entry belongs to the month in which it was booked (`LedgerEntry.created`), whatever day it counts on: so nothing is
ever added to a month that is over. Closed months are kept in tables of their own, which only grow. Open ones are added
up from the ledger where they are read. `Statement` and `StatementLine` are views of both
(analytics.statements.database).
"""

from datetime import date
from typing import Any

from django.db import models
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import Account
from analytics.models.revenue import EntryType
from kit.values.amounts import TotalField, plain
from kit.values.ids import DerivedIdField, IdField, decode, encode


def statement_id(account_id: str, requester: int | None, month: date, currency: str) -> str:
    """The id of a statement, by the requester's number. The views make it too (analytics.statements.database).

    It follows from what it names: 2 bytes of the month's number, 3 of the currency, 3 of zero, and 8 of the
    requester's number or, for entries of none, of the end of the account's id, whose first bit is always set. So it
    stays the same when a month is closed, and ids sort by month.
    """
    account = decode("acc", account_id) or b""
    holder = account[8:] if requester is None else requester.to_bytes(8)
    return encode("stm", (month.year * 12 + month.month - 1).to_bytes(2) + currency.encode() + bytes(3) + holder)


def is_of_this_month(statement: str) -> bool:
    """Whether an id is that of a statement of the running month, or of a later one."""
    now, raw = timezone.now(), decode("stm", statement)
    return raw is not None and int.from_bytes(raw[:2]) >= now.year * 12 + now.month - 1


class StatementBook(models.Model):
    """How far the months of an account are closed: all its requesters at once."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True)
    closed_until = models.DateTimeField()  # the first moment of the first open month

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"closed until {self.closed_until:%Y-%m-%d}"


class OfMonth(models.Model):
    """Of one requester (or of the entries of none), month and currency."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    requester = models.ForeignKey(
        "licensing.Requester", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    month = models.DateField()  # its first day
    currency = models.CharField(max_length=3)

    class Meta:
        abstract = True


class StatementFigures(OfMonth):
    """What the lines of a statement add up to. `opening` is what all earlier months add up to."""

    id = DerivedIdField("stm", primary_key=True)
    opening = TotalField()
    licenses = TotalField()
    usage = TotalField()
    adjustments = TotalField()
    total = TotalField()
    closing = TotalField()
    decisions = models.BigIntegerField()  # that were charged
    lines = models.BigIntegerField()
    closed_at: Any

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.currency}: {plain(self.total)}"

    @property
    def status(self) -> str:
        return "closed" if self.closed_at else "open"


class LineFigures(OfMonth):
    """A licence's price, an adjustment, or all charges of a month by one licence for one item."""

    id = IdField("led", primary_key=True)  # of its first entry
    type = models.CharField(max_length=10, choices=EntryType.choices)
    license = models.ForeignKey(
        "licensing.License", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    license_type = models.CharField("licence type", max_length=100, null=True)
    content = models.ForeignKey(
        "licensing.Content", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, null=True
    )
    amount = TotalField()
    entries = models.BigIntegerField()
    description = models.CharField(max_length=500, null=True)
    occurred_at = models.DateTimeField()  # of the first entry
    created = models.DateTimeField()  # when the first entry was booked
    latest = models.DateTimeField()  # and the last one

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{plain(self.amount)} {self.currency} ({self.type})"


class ClosedStatement(StatementFigures):
    """Triggers refuse to change or delete it, but for a demo account's."""

    closed_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index("account", Coalesce("requester_id", 0), "currency", "month", name="statements_of_one"),
            models.Index(fields=["account", "-month", "-id"], name="statements_newest_first"),
        ]


class ClosedLine(LineFigures):
    """Triggers refuse to change or delete it, but for a demo account's."""

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["account", "month", "requester", "currency"], name="statement_lines_of_one")]


class Statement(StatementFigures):
    """Closed or, without `closed_at`, open. A view of the database."""

    closed_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        default_permissions = ("view",)


class StatementLine(LineFigures):
    """Of a closed or an open month. A view of the database."""

    class Meta:
        managed = False
        default_permissions = ()
