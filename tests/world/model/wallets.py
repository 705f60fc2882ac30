"""Wallets as docs/guides/wallets.md describes them: grants, refills, spending and expiry, in order."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from tests.world.diary import Diary, Granted, Purse, Question
from tests.world.model.evaluator import Verdict

ACCESS = "access"
REASONS = {ACCESS: "quota_exceeded"}  # of all other units: credits_exhausted
NEVER = datetime.max.replace(tzinfo=UTC)
WEEK, MICROSECOND = timedelta(weeks=1), timedelta(microseconds=1)
USUAL_PRIORITY = 128
EXPIRE, REFILL, START, VOID = range(4)  # the order of simultaneous events
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


@dataclass
class Portion:
    """The rest of a grant or refill."""

    order: tuple[int, datetime, datetime, str]
    left: Decimal
    grant: str | None = None  # its id; None for a refill


@dataclass
class Book:
    """A wallet at a time that only advances."""

    purse: Purse
    granted: dict[str, Granted]
    portions: list[Portion] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    refilled: datetime | None = None  # when it was last
    done: set[tuple[str | None, int]] = field(default_factory=set)

    @property
    def balance(self) -> Decimal:
        return sum((one.left for one in self.portions), Decimal(0))

    @property
    def next_refill(self) -> datetime | None:
        if not self.purse.refill:
            return None
        return self.purse.begun if self.refilled is None else self.refilled + WEEK

    def events(self) -> Iterator[tuple[datetime, int, str | None]]:
        """Return upcoming events in order: ends, refills, starts, voids."""
        if moment := self.next_refill:
            yield moment, REFILL, None
        for id_, one in self.granted.items():
            for moment, rank in ((one.ends, EXPIRE), (one.begins, START), (one.voided and one.voided.at, VOID)):
                if moment and (id_, rank) not in self.done:
                    yield moment, rank, id_

    def roll_to(self, now: datetime) -> None:
        while due := min((one for one in self.events() if one[0] <= now), default=None, key=lambda one: one[:2]):
            moment, rank, id_ = due
            self.done.add((id_, rank))
            if id_ is None:
                self.refill(moment)
            elif rank == START:
                one = self.granted[id_]
                portion = Portion((one.priority, one.ends or NEVER, moment, id_), one.amount, id_)
                self.add(portion, "refund" if one.refunds else "grant", moment, one.refunds)
            else:
                self.end(
                    [one for one in self.portions if one.grant == id_], "void" if rank == VOID else "expire", moment
                )

    def refill(self, moment: datetime) -> None:
        """Expire the rest of the previous refill, except what rolls over, and add the new one."""
        assert self.purse.refill
        former = [one for one in self.portions if one.grant is None]
        left = sum((one.left for one in former), Decimal(0))
        amount, rollover = Decimal(self.purse.refill["amount"]), self.purse.refill["rollover"]
        carried = min(max(left, rollover["min"]), rollover["max"]) if self.refilled else Decimal(0)
        self.end(former, "expire", moment, rolled=min(left, carried))
        order = (USUAL_PRIORITY, moment + WEEK, moment, "")
        self.refilled = moment
        if carried:
            self.add(Portion(order, Decimal(carried)), "carry", moment)
        self.add(Portion(order, amount), "grant", moment)

    def add(self, portion: Portion, entry: str, moment: datetime, decision: str | None = None) -> None:
        self.portions.append(portion)
        self.entries.append(Entry(entry, portion.left, decision, moment))

    def carry_to(self, other: "Book", moment: datetime) -> None:
        """Move all credit to another wallet, including grants that have a rest or have not started."""
        carried = self.balance
        open_ones = {one.grant for one in self.portions if one.left}
        for id_ in [id_ for id_ in self.granted if id_ in open_ones or (id_, START) not in self.done]:
            other.granted[id_] = self.granted.pop(id_)
        other.done |= {one for one in self.done if one[0] is not None}
        other.portions += self.portions
        self.portions = []
        if carried:
            self.entries.append(Entry("carry", -carried, None, moment))
            other.entries.append(Entry("carry", carried, None, moment))

    def end(self, portions: list[Portion], entry: str, moment: datetime, rolled: Decimal = Decimal(0)) -> None:
        left = sum((one.left for one in portions), Decimal(0))
        self.portions = [one for one in self.portions if one not in portions]
        for type_, amount in ((entry, left - rolled), ("carry", rolled)):
            if amount:
                self.entries.append(Entry(type_, -amount, None, moment))

    def spend(self, amount: Decimal, decision: str, moment: datetime) -> None:
        self.entries.append(Entry("spend", -amount, decision, moment))
        for portion in sorted(self.portions, key=lambda one: one.order):
            used = min(portion.left, amount)
            portion.left -= used
            amount -= used
        assert not amount

    def left_of_grants(self) -> dict[str, Decimal]:
        """Return the rest of each manual grant by id."""
        left = {one.grant: one.left for one in self.portions if one.grant}
        return {
            id_: left.get(id_, Decimal(0) if (id_, START) in self.done else one.amount)
            for id_, one in self.granted.items()
        }


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
        refill = book.next_refill
        return {
            "walletId": wallet,
            "unit": book.purse.unit,
            "required": amount,
            "available": book.balance,
            "nextRefillAt": refill and f"{refill:%Y-%m-%dT%H:%M:%S.%fZ}",
        }
