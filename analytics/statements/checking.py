"""Check the books: compare figures that are stored, or shown in several places, with the entries that they add up.

Every movement of money or credit is an entry that never changes; everything else is a sum of entries. All checks see
the same moment, so they can run while the service records.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Exists, ExpressionWrapper, F, Model, OuterRef, Q, QuerySet, Sum
from django.db.models.expressions import RawSQL
from msgspec import Struct

from accounts.models import Account
from analytics.ledger.refunds import IS_REFUND, balances, charge_of
from analytics.models import (
    BalanceChange,
    Entry,
    EntryType,
    Grant,
    LedgerEntry,
    Statement,
    StatementLine,
    Wallet,
    WalletEntry,
)
from analytics.models.entries import Side, moved_into
from analytics.rollups.definitions import adapt
from analytics.rollups.rebuild import steps
from analytics.wallets.events import next_notice
from analytics.wallets.models import WalletEntryType
from analytics.wallets.units import ACCESS
from kit.storage.reading import read_snapshot
from kit.values.amounts import AmountField
from kit.values.decimals import from_millionths, plain

ZERO = Decimal(0)
ONE_ACCESS = Decimal(1)
CHARGES = 500  # of a query
SHORTEST_PERIOD = timedelta(days=26)  # of a fee: February, less a change of time zone
Key = tuple[object, object, object]  # account, subject (such as a wallet's id) and unit
Sums = dict[Key, Decimal]
Missing = Iterator[tuple[Key, Decimal]]  # what differs, and how much is missing there, below 0 if it is too much


class Difference(Struct, frozen=True, rename="camel"):
    """An amount that is missing in one of the books, or too much there (below 0)."""

    check: str  # a key of CHECKS
    account_id: str
    subject: str | None  # an id, or a customer's number; None for entries without it
    unit: str
    missing: str


def find_differences(names: Iterable[str] = ()) -> list[Difference]:
    """Return the differences in the books of all accounts, by all checks or by the named ones."""
    differences = []
    with read_snapshot():
        for name in names or CHECKS:
            for (account, subject, unit), missing in CHECKS[name]():
                about = None if subject is None else str(subject)
                differences.append(Difference(name, str(account), about, str(unit), plain(missing)))
    return differences


def add_up(rows: QuerySet[Model], subject: str, unit: str, amount: object = "amount") -> Sums:
    """Return sums by account, subject and unit."""
    groups = rows.order_by().values_list("account_id", subject, unit).annotate(sum=Sum(amount))
    return {(account, about, code): total or ZERO for account, about, code, total in groups}


def compare(expected: Sums, actual: Sums) -> Missing:
    for key in sorted(expected.keys() | actual.keys(), key=str):
        missing = expected.get(key, ZERO) - actual.get(key, ZERO)
        if missing:
            yield key, missing


def check_wallets() -> Missing:
    """A wallet's balance is the sum of its entries, and no spend can pass its next notice."""
    entries = add_up(WalletEntry.objects.all(), "wallet_id", "wallet__unit")
    yield from compare(entries, add_up(Wallet.objects.all(), "pk", "unit", "balance"))
    for wallet in Wallet.objects.iterator():
        notice = next_notice(wallet)
        if wallet.notice_at is not None and wallet.notice_at < notice:
            yield (wallet.account_id, wallet.pk, wallet.unit), notice - wallet.notice_at


def check_grants() -> Missing:
    """A grant adds its amount to its wallet once, when it starts. What is left of the grants covers the balance."""
    added = WalletEntry.objects.filter(grant__isnull=False, amount__gt=0)
    started = Grant.objects.filter(started=True)
    yield from compare(add_up(started, "pk", "wallet__unit"), add_up(added, "grant_id", "wallet__unit"))
    left = add_up(started.filter(ended_at__isnull=True), "wallet_id", "wallet__unit", "remaining")
    for key, balance in add_up(Wallet.objects.all(), "pk", "unit", "balance").items():
        if balance > left.get(key, ZERO):
            yield key, balance - left.get(key, ZERO)


def check_spends() -> Missing:
    """A wallet pays what the ledger charges for the decision, or one access."""
    paid = ExpressionWrapper(-F("amount"), output_field=AmountField())
    charges = LedgerEntry.objects.filter(
        pk=OuterRef("decision_id"), amount=OuterRef("paid"), currency=OuterRef("wallet__unit")
    )
    is_right = Q(wallet__unit=ACCESS, paid=ONE_ACCESS) | Q(Exists(charges))
    wrong = WalletEntry.objects.filter(type=WalletEntryType.SPEND).annotate(paid=paid).exclude(is_right)
    for account, decision, unit, amount in wrong.values_list("account_id", "decision_id", "wallet__unit", "amount"):
        yield (account, decision, unit), amount


def check_refunds() -> Missing:
    """Refunds do not exceed their charge: a decision, a licence's price or a fee."""
    refunds = LedgerEntry.objects.filter(IS_REFUND).iterator()
    accounts = {charge: entry.account_id for entry in refunds if (charge := charge_of(entry)) is not None}
    charges = list(accounts)
    for first in range(0, len(charges), CHARGES):
        charged_balances = balances(accounts.values(), charges[first : first + CHARGES])
        for (charge, currency), balance in charged_balances.items():
            left = balance.booked + balance.added - balance.refunded
            if left < 0:
                yield (accounts[charge], charge.id, currency), left


def check_fees() -> Missing:
    """A licence's fee is charged once for each period."""
    former = None
    for fee in LedgerEntry.objects.filter(type=EntryType.FEE).order_by("license_id", "occurred_at").iterator():
        is_same = former is not None and former.license_id == fee.license_id
        if former is not None and is_same and fee.occurred_at - former.occurred_at < SHORTEST_PERIOD:
            yield (fee.account_id, fee.pk, fee.currency), -fee.amount
        former = fee


def check_statements() -> Missing:
    """Each statement adds up and continues the one before. The last has what is owed, and the wallets' credit.

    Together they have the refunds of the ledger.
    """
    owed, credit, refunds = Sums(), Sums(), Sums()
    for statement in Statement.objects.order_by("month", "pk").iterator():
        holder = (statement.account_id, statement.requester_id, statement.currency)
        key = (statement.account_id, statement.pk, statement.currency)
        total = statement.licenses + (statement.fees or ZERO) + statement.usage + statement.adjustments
        paid = statement.payments - (statement.payouts or ZERO)
        added = statement.credit_granted + statement.credit_refunded
        used = statement.credit_spent + statement.credit_expired
        for expected, actual in (
            (owed.get(holder, ZERO), statement.opening),
            (total, statement.total),
            (statement.opening + total - paid, statement.closing),
            (credit.get(holder, ZERO), statement.credit_opening),
            (statement.credit_opening + added - used, statement.credit_closing),
        ):
            yield from compare({key: expected}, {key: actual})
        owed[holder], credit[holder] = statement.closing, statement.credit_closing
        refunds[holder] = refunds.get(holder, ZERO) - statement.refunds
    refunding = LedgerEntry.objects.filter(IS_REFUND)
    yield from compare(add_up(refunding, "requester_id", "currency"), refunds)
    yield from compare(add_up(Wallet.objects.all(), "requester_id", "unit", "balance"), credit)
    moved = RawSQL(moved_into(Side.OWED), (), AmountField())  # noqa: S611 - made of constants
    yield from compare(add_up(Entry.objects.all(), "requester_id", "currency", moved), owed)
    yield from compare(add_up(BalanceChange.objects.all(), "requester_id", "currency", "owed"), owed)


def check_lines() -> Missing:
    """Statements and their lines have all of the ledger, by customer, licence type and item."""
    entries, lines = LedgerEntry.objects.all(), StatementLine.objects.all()
    totals = add_up(Statement.objects.all(), "requester_id", "currency", "total")
    yield from compare(add_up(entries, "requester_id", "currency"), totals)
    for subject in ("requester_id", "license_type", "content_id"):
        yield from compare(add_up(entries, subject, "currency"), add_up(lines, subject, "currency"))


def check_revenue() -> Missing:
    """The daily and yearly totals of reports are those of the ledger. `rebuild_usage` corrects them."""
    for account in Account.objects.order_by("pk").values_list("pk", flat=True):
        for period, totals in steps(account, None, None):
            if not totals.rollup.endswith(("revenue", "revenueyear")):
                continue
            currency, amount = totals.keys.index("currency"), len(totals.keys) + len(totals.values) - 1
            subject = f"{totals.rollup.removeprefix('analytics_')} {period}"
            with connection.cursor() as cursor:
                cursor.execute(totals.select, [adapt(value) for value in totals.parameters])
                for row in cursor.fetchall():
                    yield (account, subject, row[currency]), from_millionths(row[amount])


Check = Callable[[], Missing]
CHECKS: dict[str, Check] = {
    "wallets": check_wallets,
    "grants": check_grants,
    "spends": check_spends,
    "refunds": check_refunds,
    "fees": check_fees,
    "statements": check_statements,
    "lines": check_lines,
    "revenue": check_revenue,
}
