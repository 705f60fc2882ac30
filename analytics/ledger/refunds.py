"""Refunds: how much of a charge was refunded, and how much can still be.

A charge is the revenue from a decision or from a licence's price, or a single entry: a fee, or a positive adjustment
that names no other charge. A refund is a negative adjustment of that charge; its `fee` names the single entry. All
other entries of the charge, including positive adjustments, increase what can be refunded.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Case, F, Q, QuerySet, Sum, When

from analytics.models import EntryType, LedgerEntry
from analytics.wallets.models import GrantKind, WalletEntry, WalletEntryType
from analytics.wallets.moving import current_wallet
from analytics.wallets.stored_books import lock_book, save_book
from kit.http.errors import ValidationFailed
from kit.storage.reading import stored_now
from kit.values import ids
from kit.values.currencies import in_full
from kit.values.decimals import from_millionths, to_millionths

IS_REFUND = Q(type=EntryType.ADJUSTMENT, amount__lt=0)
IS_POSITIVE = Q(type=EntryType.ADJUSTMENT, amount__gt=0)
NAMES_NO_OTHER = Q(fee__isnull=True, decision__isnull=True, license__isnull=True)
IS_SINGLE = Q(type=EntryType.FEE) | (IS_POSITIVE & NAMES_NO_OTHER)
IS_ADDED = IS_POSITIVE & ~NAMES_NO_OTHER  # to a charge: it undoes a refund, or charges more
ZERO = Decimal(0)


def of_decisions(decision_ids: list[str]) -> Q:
    """Return the condition for entries of these decisions. Each alternative has an index."""
    charged = Q(pk__in=[usage_id(decision_id) for decision_id in decision_ids])
    return charged | Q(type=EntryType.ADJUSTMENT, decision__in=decision_ids)


def of_prices(license_ids: list[str]) -> Q:
    """Return the condition for entries of these licences' prices."""
    return Q(decision__isnull=True, fee__isnull=True, license__in=license_ids) & ~Q(type=EntryType.FEE)


def of_fees(entry_ids: list[str]) -> Q:
    """Return the condition for these single entries and their refunds."""
    return Q(pk__in=entry_ids) | Q(fee__in=entry_ids)


class ChargeKind(NamedTuple):
    """A kind of charge: the prefix of its ids, its name, the condition for entries, and a hint if it has none."""

    prefix: str
    name: str
    entries: Callable[[list[str]], Q]
    hint: str = ""


NOT_A_PRICE = " Refund an access by its decisionId, or give a credit that names only the requesterId."
KINDS = {
    "fee": ChargeKind("led", "Entry", of_fees),
    "decision": ChargeKind("dec", "Decision", of_decisions),
    "license": ChargeKind("lic", "The price of licence", of_prices, NOT_A_PRICE),
}


class Charge(NamedTuple):
    """A decision, a licence's price, or a single entry."""

    kind: str  # a key of KINDS
    id: str

    @property
    def name(self) -> str:
        return f"{KINDS[self.kind].name} {self.id}"


class Balance(NamedTuple):
    """A charge's amounts in one currency: its own, what was added to it later, and refunds as a positive amount."""

    booked: Decimal = ZERO
    added: Decimal = ZERO
    refunded: Decimal = ZERO

    @property
    def original(self) -> Decimal:
        """The charge's own amount or, if it has none, what adjustments charged."""
        return self.booked or self.added

    @property
    def refundable(self) -> Decimal:
        return max(self.booked + self.added - self.refunded, ZERO)


Balances = dict[tuple[Charge, str], Balance]  # by charge and currency


def is_single(entry: LedgerEntry) -> bool:
    """Whether IS_SINGLE applies to the entry: apart from refunds, no other belongs to its charge."""
    if entry.type == EntryType.ADJUSTMENT and entry.amount > 0:
        return not (entry.fee_id or entry.decision_id or entry.license_id)
    return entry.type == EntryType.FEE


def charge_of(entry: LedgerEntry) -> Charge | None:
    """Return the charge that an entry belongs to, or None for a negative adjustment that names none."""
    single = entry.pk if is_single(entry) else entry.fee_id
    return named_first(single, entry.decision_id, entry.license_id)


def named_first(fee: str | None, decision: str | None, license: str | None) -> Charge | None:  # noqa: A002
    named = {"fee": fee, "decision": decision, "license": license}
    return next((Charge(kind, id) for kind, id in named.items() if id is not None), None)


def booked_charge(entry: LedgerEntry) -> Charge | None:
    """Return the charge that an entry books, or None for corrections."""
    books = is_single(entry) or entry.type != EntryType.ADJUSTMENT
    return charge_of(entry) if books and entry.amount > 0 else None


def balances(account_ids: Iterable[str], charges: Iterable[Charge], until: datetime | None = None) -> Balances:
    """Return the balances of the accounts' charges, in one query. Charges without entries are absent.

    `until` limits them to entries that were recorded by then.
    """
    by_kind: dict[str, list[str]] = {}
    for kind, id in set(charges):
        by_kind.setdefault(kind, []).append(id)
    if not by_kind:
        return {}
    named = Q.create([KINDS[kind].entries(named) for kind, named in by_kind.items()], connector=Q.OR)
    entries = LedgerEntry.objects.filter(named, account__in=set(account_ids))
    if until is not None:
        entries = entries.filter(created__lte=until)
    single = Case(When(IS_SINGLE, then=F("id")), default=F("fee_id"))
    groups = entries.order_by().annotate(single=single).values_list("single", "decision_id", "license_id", "currency")
    by_charge: Balances = {}
    parts = {"booked": ~(IS_REFUND | IS_ADDED), "added": IS_ADDED, "refunds": IS_REFUND}
    sums = {name: Sum("amount", filter=part) for name, part in parts.items()}
    for *names, currency, booked, added, refunds in groups.annotate(**sums):
        if (charge := named_first(*names)) is not None:
            former = by_charge.get((charge, currency), Balance())
            by_charge[charge, currency] = Balance(
                former.booked + (booked or ZERO), former.added + (added or ZERO), former.refunded - (refunds or ZERO)
            )
    return by_charge


def refunds_of(account_id: str, charge: Charge) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(IS_REFUND, KINDS[charge.kind].entries([charge.id]), account_id=account_id)


def usage_id(decision_id: str) -> str:
    """Return the id of the entry that charges a decision."""
    return ids.encode("led", ids.decode("dec", decision_id) or b"")


def balances_of(entries: Iterable[LedgerEntry]) -> Balances:
    """Return the balances of the charges that these entries record."""
    booked = [(entry.account_id, charge) for entry in entries if (charge := booked_charge(entry))]
    return balances({account_id for account_id, _ in booked}, [charge for _, charge in booked])


def balance_of(entry: LedgerEntry, balances_by_charge: Balances | None = None) -> Balance | None:
    """Return the balance, in the entry's currency, of the charge that the entry records; None if it records none.

    After a change of price, several entries record the same licence's price and have the same balance.
    """
    charge = booked_charge(entry)
    if charge is None:
        return None
    if balances_by_charge is None:
        balances_by_charge = balances_of([entry])
    return balances_by_charge.get((charge, entry.currency), Balance())


def check_refund(refund: LedgerEntry) -> None:
    """Raise ValidationFailed if a refund exceeds the rest of its charge.

    Call it while holding the account (accounts.plans.epochs.lock_epoch), so that two refunds cannot use the same rest.
    """
    charge = charge_of(refund)
    if charge is None or refund.amount >= 0:
        return
    by_currency = charged_amounts(refund.account_id, charge)
    if refund.currency not in by_currency:
        raise ValidationFailed(
            f"{charge.name} was charged in {' and '.join(sorted(by_currency))}, not in {refund.currency}.",
            param="currency",
        )
    balance = by_currency[refund.currency]
    if -refund.amount > balance.refundable:
        raise too_much(charge, refund.currency, balance)


def too_much(charge: Charge, currency: str, balance: Balance) -> ValidationFailed:
    """Return the error for a refund that exceeds what is left, which it names."""
    left, charged, added, refunded = (
        in_full(amount, currency) for amount in (balance.refundable, balance.original, balance.added, balance.refunded)
    )
    if balance.booked and balance.added:
        charged = f"{charged} and later {added} more"
    return ValidationFailed(
        f"At most {left} can be refunded. {charge.name} was charged {charged}, of which {refunded} was refunded.",
        param="amount",
    )


def charged_amounts(account_id: str, charge: Charge) -> dict[str, Balance]:
    """Return a charge's balances by currency. Raises ValidationFailed if nothing was charged."""
    by_currency = {currency: balance for (_, currency), balance in balances([account_id], [charge]).items()}
    if not by_currency:
        raise ValidationFailed(
            f"{charge.name} was not charged, so nothing can be refunded.{KINDS[charge.kind].hint}",
            param="amount",
        )
    return by_currency


def charge_to_refund(account_id: str, charge: Charge, named: str | None) -> tuple[str, Decimal]:
    """Return the currency of a charge, which an entry may have `named`, and what is left of it.

    Raises ValidationFailed if nothing was charged, nothing is left, or something is left in several currencies.
    """
    by_currency = charged_amounts(account_id, charge)
    left = {code: balance for code, balance in by_currency.items() if balance.refundable and named in (None, code)}
    if len(left) > 1:
        amounts = " and ".join(in_full(balance.refundable, currency) for currency, balance in sorted(left.items()))
        raise ValidationFailed(
            f"{charge.name} was charged in several currencies: {amounts} can be refunded. Name the entry by its "
            "`entryId`.",
            param=f"{charge.kind}Id",
        )
    currency = next(iter(left), named or next(iter(by_currency)))
    if not left:
        raise too_much(charge, currency, by_currency[currency])
    return currency, left[currency].refundable


def check_prices(entries: Iterable[LedgerEntry]) -> None:
    """Raise ValidationFailed if a lower licence price would take back what was already refunded.

    `entries` are those of the price changes. Call it while holding the account.
    """
    lowered: Counter[tuple[Charge, str]] = Counter()
    changed = list(entries)
    for entry in changed:
        if (charge := charge_of(entry)) is not None:
            lowered[charge, entry.currency] -= to_millionths(entry.amount)
    affected = +lowered
    charged_balances = balances({entry.account_id for entry in changed}, [charge for charge, _ in affected])
    for key, by in affected.items():
        balance = charged_balances.get(key, Balance())
        if balance.refunded and from_millionths(by) > balance.refundable:
            raise ValidationFailed(
                f"{in_full(balance.refunded, key[1])} of the price was refunded. "
                f"The price in {key[1]} cannot fall below that amount.",
                param="price",
            )


# --- To a wallet -----------------------------------------------------------------------------------------------------


def returned_of(decision_id: str | None) -> Decimal:
    """Return how much of a decision's spend was returned and not voided since."""
    grants = WalletEntry.objects.filter(decision=decision_id, type=WalletEntryType.REFUND).values("grant")
    entries = WalletEntry.objects.filter(grant__in=grants, type__in=(WalletEntryType.REFUND, WalletEntryType.VOID))
    return entries.aggregate(sum=Sum("amount"))["sum"] or ZERO


def return_to_wallet(refund: LedgerEntry) -> None:
    """Return a refund of a decision to the wallet that paid, if one did, up to what it paid. After a merge the wallet
    that got the credit gets the refund.

    Call it in the refund's transaction, while the account is held.
    """
    entries = WalletEntry.objects.filter(decision=refund.decision_id, wallet__unit=refund.currency)
    spend = entries.filter(type=WalletEntryType.SPEND).select_related("wallet__requester").first()
    if spend is None:
        return
    amount = min(-refund.amount, -spend.amount - returned_of(refund.decision_id))
    if amount <= 0:
        return
    now = stored_now()
    book = lock_book(current_wallet(spend.wallet))
    book.roll_to(now)
    grant = book.make_grant(amount, now, kind=GrantKind.REFUND)
    grant.save(force_insert=True)
    book.add(grant, WalletEntryType.REFUND)
    book.entries[-1].decision_id = refund.decision_id
    save_book(book, now)
