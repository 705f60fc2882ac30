"""Statements: a requester's ledger entries of a month in one currency. Months are of the account's time zone.

An entry belongs to the month in which it was recorded (`LedgerEntry.created`), regardless of the day it counts on, so
nothing is ever added to a past month. Closed months are stored in append-only tables, open ones are computed from the
ledger when read. `Statement` and `StatementLine` are views of both (analytics.statements.sql_views).
"""

from decimal import Decimal
from typing import Any

from django.db import models
from django.db.models.functions import Coalesce

from accounts.models import Account
from analytics.models.revenue import EntryType
from analytics.wallets.units import ACCESS, in_units
from kit.storage.references import Reference
from kit.values.amounts import TotalField
from kit.values.ids import DerivedIdField, IdField, decode

NO_REQUESTER = 1 << 63  # the ids of statements without a requester have this bit (analytics.statements.sql_views)
HOLDER = "requester__former_names"  # the relation from which a statement takes its name


def requester_of(statement: str) -> int | None:
    """Return the number of the requester that a statement's id has; None without a requester."""
    raw = decode("stm", statement) or b""
    number = int.from_bytes(raw[8:])
    if 0 < number < NO_REQUESTER:
        return number
    return None


class StatementBook(models.Model):
    """The closed months of an account, for all its requesters."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, primary_key=True)
    closed_until = models.DateTimeField()  # start of the first open month

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"closed until {self.closed_until:%Y-%m-%d}"


class OfMonth(models.Model):
    """Columns of one requester (or of entries without one), month and currency."""

    account = models.ForeignKey(Account, on_delete=models.PROTECT, db_constraint=False, db_index=False)
    requester = Reference("licensing.Requester", models.DO_NOTHING, null=True, verbose_name="customer")
    month = models.DateField()  # its first day
    currency = models.CharField(max_length=6)  # or ACCESS

    class Meta:
        abstract = True


class StatementFigures(OfMonth):
    """The totals of a statement's lines and payments, and of the requester's wallets in its unit (`credit_…`).

    `opening` is the total of all earlier months.
    """

    id = DerivedIdField("stm", primary_key=True)
    opening = TotalField()
    licenses = TotalField()
    fees = TotalField(null=True)  # null, as in months that were closed before fees: 0
    usage = TotalField()
    adjustments = TotalField()
    total = TotalField()
    refunds = TotalField(db_default=0)  # the adjustments below 0, above 0
    payments = TotalField(db_default=0)
    payouts = TotalField(null=True)  # null, as in months that were closed before payouts: 0
    paid_for_credit = TotalField(null=True)
    closing = TotalField()
    credit_opening = TotalField(db_default=0)
    credit_granted = TotalField(db_default=0)
    credit_spent = TotalField(db_default=0)
    credit_expired = TotalField(db_default=0)
    credit_refunded = TotalField(db_default=0)
    credit_closing = TotalField(db_default=0)
    has_wallet = models.BooleanField(db_default=False)
    decisions = models.BigIntegerField()  # charged decisions
    lines = models.BigIntegerField()
    closed_at: Any

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}, {in_units(self.total, self.currency)}"

    @property
    def status(self) -> str:
        return "closed" if self.closed_at else "open"

    @property
    def is_quota(self) -> bool:
        return self.currency == ACCESS

    @property
    def opening_balance(self) -> Decimal:
        """The balance at the start of the month; of a quota, the accesses left."""
        return self.credit_opening if self.is_quota else self.opening

    @property
    def closing_balance(self) -> Decimal:
        """The balance at the end of the month; of a quota, the accesses left."""
        return self.credit_closing if self.is_quota else self.closing

    @property
    def charges(self) -> Decimal:
        return self.total + self.refunds

    @property
    def credits(self) -> dict[str, Decimal]:
        """Return the changes of wallets in its unit; empty without a wallet."""
        names = ("opening", "granted", "spent", "expired", "refunded", "closing") if self.has_wallet else ()
        return {name: getattr(self, f"credit_{name}") for name in names}

    @property
    def requester_name(self) -> str | None:
        """The requester's name; of a closed statement the name when it was closed. Prefetch HOLDER for many."""
        if self.requester is None or self.closed_at is None:
            return None if self.requester is None else self.requester.name
        return self.requester.name_at(self.closed_at)


class LineFigures(OfMonth):
    """A licence's price, an adjustment, or a month's charges of one licence for one item."""

    id = IdField("led", primary_key=True)  # of its first entry
    type = models.CharField(max_length=10, choices=EntryType.choices)
    license = Reference("licensing.License", models.DO_NOTHING, null=True)
    license_type = models.CharField("licence type", max_length=100, null=True)
    content = Reference("licensing.Content", models.DO_NOTHING, null=True)
    amount = TotalField()
    entries = models.BigIntegerField()
    description = models.CharField(max_length=500, null=True)
    occurred_at = models.DateTimeField()  # of the first entry
    created = models.DateTimeField()  # when the first entry was recorded
    latest = models.DateTimeField()  # when the last entry was recorded

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{in_units(self.amount, self.currency)} ({self.type})"


class ClosedStatement(StatementFigures):
    """A closed statement. Triggers prevent changes and deletion, except for demo accounts."""

    closed_at = models.DateTimeField()

    class Meta:
        default_permissions = ()
        indexes = [
            models.Index("account", Coalesce("requester_id", 0), "currency", "month", name="statements_of_one"),
            models.Index(fields=["account", "-month", "-id"], name="statements_newest_first"),
        ]


class ClosedLine(LineFigures):
    """A closed statement's line. Triggers prevent changes and deletion, except for demo accounts."""

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["account", "month", "requester", "currency"], name="statement_lines_of_one")]


class Statement(StatementFigures):
    """A statement, closed or open (`closed_at` is None). A database view."""

    closed_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        default_permissions = ("view",)


class StatementLine(LineFigures):
    """A line of a closed or open month. A database view."""

    class Meta:
        managed = False
        default_permissions = ()
