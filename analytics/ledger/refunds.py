"""Refunds: how much of a charge was refunded, and how much can still be.

A charge is the revenue from a decision, from a licence's price, or one of its fees. A refund is a negative adjustment
of that charge. All other entries of the charge, including positive adjustments, increase what can be refunded.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Case, F, Q, QuerySet, Sum, When

from analytics.models import EntryType, LedgerEntry
from kit.http.errors import ValidationFailed
from kit.values import ids
from kit.values.amounts import from_millionths, to_millionths
from kit.values.currencies import in_full

IS_REFUND = Q(type=EntryType.ADJUSTMENT, amount__lt=0)
ZERO = Decimal(0)
PREFIXES = {"fee": "led", "decision": "dec", "license": "lic"}  # id prefixes by kind of charge
HINTS = {  # by kind of charge, if nothing was charged
    "fee": "",
    "decision": "",
    "license": " Refund an access by its decisionId, or give a credit that names only the requesterId.",
}


class Charge(NamedTuple):
    """A decision, a licence's price or a fee that was charged."""

    kind: str  # a key of PREFIXES
    id: str


class Balance(NamedTuple):
    """The amounts of a charge in one currency; `refunded` is positive."""

    charged: Decimal = ZERO
    refunded: Decimal = ZERO

    @property
    def refundable(self) -> Decimal:
        return max(self.charged - self.refunded, ZERO)


Balances = dict[Charge, dict[str, Balance]]  # by charge and currency


def charge_of(entry: LedgerEntry) -> Charge | None:
    """Return the charge that an entry belongs to, or None if it names neither fee nor decision nor licence."""
    if entry.type == EntryType.FEE:
        return Charge("fee", entry.pk)
    if entry.fee_id is not None:
        return Charge("fee", entry.fee_id)
    if entry.decision_id is not None:
        return Charge("decision", entry.decision_id)
    return Charge("license", entry.license_id) if entry.license_id is not None else None


def balances(account_ids: Iterable[str], charges: Iterable[Charge], until: datetime | None = None) -> Balances:
    """Return the balances of the accounts' charges, in one query. Charges without entries are absent.

    `until` limits them to entries that were recorded by then.
    """
    wanted = set(charges)
    if not wanted:
        return {}
    decisions, licenses, fees = (
        [charge.id for charge in wanted if charge.kind == kind] for kind in ("decision", "license", "fee")
    )
    entries = LedgerEntry.objects.filter(
        of_decisions(decisions) | of_prices(licenses) | of_fees(fees), account__in=set(account_ids)
    )
    if until is not None:
        entries = entries.filter(created__lte=until)
    fee = Case(When(type=EntryType.FEE, then=F("id")), default=F("fee_id"))
    sums = entries.order_by().annotate(of_fee=fee).values("of_fee", "decision_id", "license_id", "currency")
    found: Balances = {}
    for row in sums.annotate(total=Sum("amount"), refunds=Sum("amount", filter=IS_REFUND)):
        refunds = row["refunds"] or ZERO
        ids_by_kind = {"fee": row["of_fee"], "decision": row["decision_id"], "license": row["license_id"]}
        kind, id = next((kind, id) for kind, id in ids_by_kind.items() if id is not None)
        of_charge = found.setdefault(Charge(kind, id), {})
        had = of_charge.get(row["currency"], Balance())
        of_charge[row["currency"]] = Balance(had.charged + row["total"] - refunds, had.refunded - refunds)
    return found


def of_decisions(decision_ids: list[str]) -> Q:
    """Return the condition for entries of these decisions. Each alternative has an index."""
    charged = Q(pk__in=[usage_id(one) for one in decision_ids])
    return charged | Q(type=EntryType.ADJUSTMENT, decision__in=decision_ids)


def of_prices(license_ids: list[str]) -> Q:
    """Return the condition for entries of these licences' prices."""
    return Q(decision__isnull=True, fee__isnull=True, license__in=license_ids) & ~Q(type=EntryType.FEE)


def of_fees(entry_ids: list[str]) -> Q:
    """Return the condition for these fees and their refunds."""
    return Q(pk__in=entry_ids) | Q(fee__in=entry_ids)


def refunds_of(account_id: str, charge: Charge) -> QuerySet[LedgerEntry]:
    """Return the refunds of a charge."""
    conditions = {"decision": of_decisions, "license": of_prices, "fee": of_fees}
    return LedgerEntry.objects.filter(IS_REFUND, conditions[charge.kind]([charge.id]), account_id=account_id)


def usage_id(decision_id: str) -> str:
    """Return the id of the entry that charges a decision."""
    return ids.encode("led", ids.decode("dec", decision_id) or b"")


def balances_of(entries: Iterable[LedgerEntry]) -> Balances:
    """Return the balances of the charges that these entries record."""
    booked = [(entry.account_id, charge) for entry in entries if books_charge(entry) and (charge := charge_of(entry))]
    return balances({account_id for account_id, _ in booked}, [charge for _, charge in booked])


def books_charge(entry: LedgerEntry) -> bool:
    return entry.type != EntryType.ADJUSTMENT and entry.amount > 0


def balance_of(entry: LedgerEntry, known: Balances | None = None) -> Balance | None:
    """Return the balance, in the entry's currency, of the charge that the entry records; None if it records none.

    After a change of price, several entries record the same licence's price and have the same balance.
    """
    charge = charge_of(entry)
    if charge is None or not books_charge(entry):
        return None
    return (balances_of([entry]) if known is None else known).get(charge, {}).get(entry.currency, Balance())


def check_refund(refund: LedgerEntry) -> None:
    """Raise ValidationFailed if a refund exceeds the rest of its charge.

    Call it while holding the account (accounts.plans.epochs.hold), so that two refunds cannot use the same rest.
    """
    charge = charge_of(refund)
    if charge is None or refund.amount >= 0:
        return
    known, what = charged_amounts(refund.account_id, charge), in_words(charge)
    if refund.currency not in known:
        raise ValidationFailed(
            f"{what} was charged in {' and '.join(sorted(known))}, not in {refund.currency}.", param="currency"
        )
    balance = known[refund.currency]
    if -refund.amount > balance.refundable:
        raise too_much(charge, refund.currency, balance)


def too_much(charge: Charge, currency: str, balance: Balance) -> ValidationFailed:
    """Return the error for a refund that exceeds what is left, which it names."""
    left, charged, refunded = (
        in_full(amount, currency) for amount in (balance.refundable, balance.charged, balance.refunded)
    )
    return ValidationFailed(
        f"At most {left} can be refunded. {in_words(charge)} was charged {charged}, of which {refunded} was refunded.",
        param="amount",
    )


def charged_amounts(account_id: str, charge: Charge) -> dict[str, Balance]:
    """Return a charge's balances by currency. Raises ValidationFailed if nothing was charged."""
    known = balances([account_id], [charge]).get(charge, {})
    if not known:
        raise ValidationFailed(
            f"{in_words(charge)} was not charged, so nothing can be refunded.{HINTS[charge.kind]}", param="amount"
        )
    return known


def charge_to_refund(account_id: str, charge: Charge) -> tuple[str, Balance]:
    """Return the currency and balance of a charge that is refunded by its id alone.

    Raises ValidationFailed if nothing was charged, nothing is left, or something is left in several currencies.
    """
    known = charged_amounts(account_id, charge)
    left = {currency: balance for currency, balance in known.items() if balance.refundable}
    if len(left) > 1:
        amounts = " and ".join(in_full(balance.refundable, currency) for currency, balance in sorted(left.items()))
        raise ValidationFailed(
            f"{in_words(charge)} was charged in several currencies: {amounts} can be refunded. Name the entry by its "
            "`entryId`.",
            param=f"{charge.kind}Id",
        )
    [(currency, balance)] = list(left.items() or known.items())[:1]
    if not left:
        raise too_much(charge, currency, balance)
    return currency, balance


def in_words(charge: Charge) -> str:
    names = {"decision": "Decision", "license": "The price of licence", "fee": "Fee"}
    return f"{names[charge.kind]} {charge.id}"


def check_prices(entries: Iterable[LedgerEntry]) -> None:
    """Raise ValidationFailed if a lower licence price would take back what was already refunded.

    `entries` are those of the price changes. Call it while holding the account.
    """
    lowered: Counter[tuple[Charge, str]] = Counter()
    changed = list(entries)
    for entry in changed:
        if (charge := charge_of(entry)) is not None:
            lowered[charge, entry.currency] -= to_millionths(entry.amount)
    affected = {key: by for key, by in lowered.items() if by > 0}
    known = balances({entry.account_id for entry in changed}, [charge for charge, _ in affected])
    for (charge, currency), by in affected.items():
        balance = known.get(charge, {}).get(currency, Balance())
        if balance.refunded and from_millionths(by) > balance.refundable:
            raise ValidationFailed(
                f"{in_full(balance.refunded, currency)} of the price was refunded. "
                f"The price in {currency} cannot fall below that amount.",
                param="price",
            )
