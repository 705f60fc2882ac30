"""Entries: every charge, refund, payment, payout and void, in one table. An entry is never changed.

An entry moves its amount from one side of the book to another (decision record 12). What a customer owes is what
entries move into Side.OWED, less what they move out of it. A negative amount moves the other way: it refunds a charge,
or voids a payment or payout.
"""

from enum import StrEnum

from django.db import models
from django.db.models import Q

from accounts.models import Account
from analytics.models.revenue import ChargeColumns, EntryType
from analytics.payments.models import PaymentKind
from kit.storage.references import Reference
from kit.values.amounts import TotalField


class Side(StrEnum):
    REVENUE = "revenue"
    OWED = "owed"  # by the customer
    CASH = "cash"
    CREDIT = "credit"  # sold to the customer: its wallets have it


FOR_CREDIT = "credit"  # the kind of a payment for credit, which settles no charge
# The sides from which and to which each kind moves its amount.
SIDES: dict[str, tuple[Side, Side]] = {
    EntryType.LICENSE.value: (Side.REVENUE, Side.OWED),
    EntryType.FEE.value: (Side.REVENUE, Side.OWED),
    EntryType.USAGE.value: (Side.REVENUE, Side.OWED),
    EntryType.ADJUSTMENT.value: (Side.REVENUE, Side.OWED),
    PaymentKind.PAYMENT.value: (Side.OWED, Side.CASH),
    PaymentKind.PAYOUT.value: (Side.CASH, Side.OWED),
    FOR_CREDIT: (Side.CREDIT, Side.CASH),
}
KIND = f"CASE WHEN grant_id IS NULL THEN type ELSE '{FOR_CREDIT}' END"


def moved_into(side: Side, kind: str = KIND) -> str:
    """Return SQL for what an entry moves into a side: below 0 if it moves it out, 0 for other sides."""
    cases = [
        f"WHEN '{name}' THEN {'amount' if target == side else '-amount'}"
        for name, (source, target) in SIDES.items()
        if side in (source, target)
    ]
    return f"CASE {kind} {' '.join(cases)} ELSE 0 END"


IS_SETTLEMENT = Q(type__in=PaymentKind.values)
NAMES_NO_CHARGE = Q(license=None, license_type=None, decision=None, content=None, fee=None)
IS_VOID = Q(reverses__isnull=False, amount__lt=0)
# Which amounts and references entries of each kind may have.
CONSISTENT = (
    Q(type__in=[EntryType.LICENSE, EntryType.ADJUSTMENT], grant=None, reverses=None)
    | Q(type__in=[EntryType.FEE, EntryType.USAGE], amount__gte=0, grant=None, reverses=None)
    | (
        IS_SETTLEMENT
        & NAMES_NO_CHARGE
        & Q(requester__isnull=False)
        & (IS_VOID | Q(reverses=None, amount__gt=0))
        & (Q(grant=None) | Q(type=PaymentKind.PAYMENT))
    )
)


def index(name: str, fields: list[str], condition: Q | None = None) -> models.Index:
    return models.Index(fields=fields, name=name, condition=condition)


class Entry(ChargeColumns):
    """An entry. Services use its views: LedgerEntry has the charges, Payment has payments, payouts and their voids."""

    type = models.CharField(max_length=10, choices=[*EntryType.choices, *PaymentKind.choices])
    account = models.ForeignKey(Account, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False)
    grant = Reference("analytics.Grant", models.DO_NOTHING, null=True, related_name="+")  # that a payment paid for
    reverses = Reference("self", models.DO_NOTHING, null=True, related_name="+")  # the payment or payout that it voids

    class Meta:
        verbose_name, verbose_name_plural = "ledger entry", "ledger entries"
        default_permissions = ()
        indexes = [
            # ascending, like the indexes of AccessEvent
            index("ledger_newest_first", ["account", "created", "id"]),
            index("ledger_by_time", ["account", "occurred_at"]),
            # A decision's entries are these and its charge, which has the decision's id.
            index("ledger_of_decision", ["decision"], Q(type="adjustment", decision__isnull=False)),
            index("ledger_of_license_price", ["license"], Q(decision__isnull=True, license__isnull=False)),
            index("ledger_of_fee", ["fee"], Q(fee__isnull=False)),
            index("ledger_by_external_id", ["account", "external_id"], Q(external_id__isnull=False)),
            index("settlements_newest_first", ["account", "created", "id"], IS_SETTLEMENT),
            index("settlements_of_requester", ["requester", "created", "id"], IS_SETTLEMENT),
            index("settlement_of_grant", ["grant"], Q(grant__isnull=False)),
        ]
        constraints = [
            models.CheckConstraint(condition=CONSISTENT, name="entries_are_consistent"),
            models.UniqueConstraint(
                fields=["account", "external_id"],
                name="one_settlement_of_external_id",
                condition=Q(external_id__isnull=False) & IS_SETTLEMENT,
            ),
            models.UniqueConstraint(fields=["reverses"], name="one_void", condition=Q(reverses__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.pk}"


class BalanceChange(models.Model):
    """The change of a customer's figures in a closed month, or in all open ones. A figure is the sum of its changes.

    A database view (analytics.statements.sql_views). Read it in groups only: its rows have no key.
    """

    account = models.ForeignKey(Account, on_delete=models.DO_NOTHING)
    requester = models.OneToOneField(
        "licensing.Requester", models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    currency = models.CharField(max_length=6)  # or ACCESS
    owed = TotalField()
    revenue = TotalField()
    credit = TotalField()

    class Meta:
        managed = False
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.requester_id}: {self.currency}"
