"""Wallets as docs/guides/wallets.md describes them: grants, refills, spending and expiry, in order."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from tests.wallets.model import Model, Portion, Refill
from tests.world.diary import Diary, Granted, Purse, Question
from tests.world.model.evaluator import Verdict
from tests.world.publisher import ZONE

ACCESS = "access"
REASONS = {ACCESS: "quota_exceeded"}  # of all other units: credits_exhausted
WEEK, MICROSECOND = timedelta(weeks=1), timedelta(microseconds=1)
Spends = tuple[tuple[str, Decimal], ...]


def spends_of(diary: Diary, asked: Question, verdict: Verdict) -> Spends:
    """Return what an allowed decision spends: from a quota first, then from the charge currency's wallet."""
    if not verdict.allowed or verdict.is_observed or verdict.license in (None, "caller"):
        return ()
    found = []
    if verdict.license != "offer" and (quota := payer(diary, asked, ACCESS, verdict.license)):
        found.append((quota, Decimal(1)))
    if verdict.charge and (wallet := payer(diary, asked, verdict.charge[1], verdict.license)):
        found.append((wallet, verdict.charge[0]))
    return tuple(found)


def payer(diary: Diary, asked: Question, unit: str, license_id: str | None) -> str | None:
    """Return the licence's wallet in that unit, or else the requester's."""
    moment = datetime.fromtimestamp(asked.begun, UTC)
    emptied = {one.source for one in diary.carried if one.at <= moment}
    own = {
        one.license: id_
        for id_, one in diary.wallets.items()
        if (one.owner_at(moment), one.unit) == (asked.requester, unit) and one.begun < moment and id_ not in emptied
    }
    return own.get(license_id, own.get(None))


class Entry(NamedTuple):
    """An expected entry of a wallet."""

    type: str
    amount: Decimal
    decision: str | None
    at: datetime


class Book:
    """A wallet at a time that only advances."""

    def __init__(self, purse: Purse, granted: dict[str, Granted]) -> None:
        self.purse, self.granted = purse, granted
        self.entries: list[Entry] = []
        self.is_moved = False
        self.wallet = Model(purse.unit, every=WEEK, zone=ZONE)
        for id_, one in granted.items():
            entry = "refund" if one.refunds else "grant"
            self.wallet.portions.append(Portion(id_, one.amount, one.begins, one.ends, one.priority, entry=entry))
        if purse.refill:
            amounts = (purse.refill["amount"], purse.refill["rollover"]["min"], purse.refill["rollover"]["max"])
            self.wallet.refill, self.wallet.next_refill = Refill(*map(Decimal, amounts)), purse.begun

    @property
    def balance(self) -> Decimal:
        return self.wallet.balance

    def roll_to(self, now: datetime) -> None:
        for id_, one in self.granted.items():
            if one.voided and one.voided.at <= now and not self.portion(id_).over:
                self.advance_to(one.voided.at)
                self.note(one.voided.at, partial(self.wallet.void, self.portion(id_)))
        if self.purse.moved and not self.is_moved and self.purse.moved[0] <= now:
            self.is_moved, (moved_at, _) = True, self.purse.moved
            self.advance_to(moved_at)
            self.entries += [Entry("carry", amount, None, moved_at) for amount in (-self.balance, self.balance)]
        self.advance_to(now)

    def advance_to(self, now: datetime) -> None:
        while (due := self.wallet.due()) and due[0][0] <= now:
            self.note(due[0][0], partial(self.wallet.roll_to, due[0][0]))

    def note(self, moment: datetime, change: Callable[[], object], decision: str | None = None) -> None:
        """Make a change, and add its entries with their time and decision."""
        refunds = [one.refunds for one in self.granted.values() if one.refunds and one.begins == moment]
        before = len(self.wallet.entries)
        change()
        for type_, amount in self.wallet.entries[before:]:
            self.entries.append(Entry(type_, amount, refunds.pop(0) if type_ == "refund" else decision, moment))

    def portion(self, id_: str) -> Portion:
        return next(one for one in self.wallet.portions if one.id == id_)

    def carry_to(self, other: "Book", moment: datetime) -> None:
        """Move all credit to another wallet, including grants that have a rest or have not started."""
        carried = self.balance
        moved = [one for one in self.wallet.portions if not one.over and (one.left or not one.started)]
        self.wallet.portions = [one for one in self.wallet.portions if one not in moved]
        other.wallet.portions += moved
        for portion in moved:
            if portion.id:
                other.granted[portion.id] = self.granted.pop(portion.id)
        if carried:
            self.entries.append(Entry("carry", -carried, None, moment))
            other.entries.append(Entry("carry", carried, None, moment))

    def spend(self, amount: Decimal, decision: str, moment: datetime) -> None:
        self.note(moment, partial(self.wallet.spend, amount), decision)

    def left_of_grants(self) -> dict[str, Decimal]:
        """Return the rest of each manual grant by id."""
        portions = {id_: self.portion(id_) for id_ in self.granted}
        return {id_: one.left if one.started or one.over else one.amount for id_, one in portions.items()}


class Spending(NamedTuple):
    """A recorded decision that spends, or whose wallet lacks credit."""

    id: str
    at: datetime
    spends: Spends
    lacking: str | None  # by the record
    credits: Any  # as the record shows them
    begun: float  # when it was asked
    ended: float
    is_observed: bool = False  # it would spend if it were enforced


class Bank:
    """All wallets after all decisions; `wrong` lists decisions that contradict their wallets.

    The order of simultaneous spends and voids is unknown: here, those until `spent_first` came before the void.
    """

    def __init__(self, diary: Diary, spendings: Iterable[Spending], now: datetime, spent_first: datetime) -> None:
        self.books = {
            id_: Book(purse, {key: one for key, one in diary.grants.items() if one.wallet == id_})
            for id_, purse in diary.wallets.items()
        }
        self.carries = sorted(diary.carried, key=lambda one: one.at)
        self.wrong: list[tuple[Spending, Any]] = []
        self.voided = [(one.wallet, one.voided) for one in diary.grants.values() if one.voided]
        self.spent_first = spent_first
        # The observed checks of a batch are compared with the balance before it.
        ordered = [(self.moment_of(one), one.at, not one.is_observed, one.id, one) for one in spendings]
        for moment, *_, one in sorted(ordered, key=lambda row: row[:4]):
            self.roll_to(moment)
            self.settle(one)
        self.roll_to(now)

    def moment_of(self, one: Spending) -> datetime:
        """Return the time by which a spending is sorted."""
        for wallet, voided in self.voided:
            if wallet in dict(one.spends) and voided.overlaps(one.begun, one.ended):
                is_before = one.at <= self.spent_first
                return min(one.at, voided.at - MICROSECOND) if is_before else max(one.at, voided.at)
        return one.at

    def roll_to(self, now: datetime) -> None:
        while self.carries and self.carries[0].at <= now:
            one = self.carries.pop(0)
            for book in self.books.values():
                book.roll_to(one.at)
            self.books[one.source].carry_to(self.books[one.target], one.at)
        for book in self.books.values():
            book.roll_to(now)

    def settle(self, one: Spending) -> None:
        lacking = next((pair for pair in one.spends if self.books[pair[0]].balance < pair[1]), None)
        if one.is_observed:
            if (lacking and lacking[0]) != one.lacking:
                self.wrong.append((one, lacking))
            return
        expected = self.missing(*lacking) if lacking else self.remaining(*one.spends[-1])
        if (lacking and lacking[0], expected) != (one.lacking, one.credits):
            self.wrong.append((one, expected))
        if lacking is None:
            for wallet, amount in one.spends:
                self.books[wallet].spend(amount, one.id, one.at)

    def remaining(self, wallet: str, amount: Decimal) -> dict[str, Any]:
        book = self.books[wallet]
        return {"walletId": wallet, "unit": book.purse.unit, "remaining": book.balance - amount}

    def missing(self, wallet: str, amount: Decimal) -> dict[str, Any]:
        book = self.books[wallet]
        refill = book.wallet.next_refill
        return {
            "walletId": wallet,
            "unit": book.purse.unit,
            "required": amount,
            "available": book.balance,
            "nextRefillAt": refill and f"{refill:%Y-%m-%dT%H:%M:%S.%fZ}",
        }
