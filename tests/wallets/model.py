"""A wallet in plain Python, as docs/guides/wallets.md describes it. Imports nothing from the service."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Any

DAY = timedelta(days=1)
NEVER = datetime.max.replace(tzinfo=UTC)
ZERO = Decimal(0)


@dataclass
class Portion:
    """A grant with `left` unspent. A refill has no id, because the service assigns it."""

    id: str | None
    amount: Decimal
    begins: datetime
    ends: datetime | None = None
    priority: int = 128
    left: Decimal = ZERO
    started: bool = False
    over: bool = False
    entry: str = "grant"

    @property
    def order(self) -> tuple[int, datetime, datetime]:
        return self.priority, self.ends or NEVER, self.begins


@dataclass
class Refill:
    amount: Decimal
    least: Decimal
    most: Decimal


@dataclass
class Model:
    """The expected wallet. `entries` are types and amounts in order; `overdraft` is what no grant covers.

    `events` are types with the balance and the previous one; `topped` is the balance after the latest credit.
    """

    unit: str
    floor: Decimal = ZERO
    portions: list[Portion] = field(default_factory=list)
    overdraft: Decimal = ZERO
    refill: Refill | None = None
    anchor: datetime | None = None
    next_refill: datetime | None = None
    every: timedelta = DAY  # the length of a period, on the wall clock of `zone`
    zone: tzinfo = UTC
    refilled: bool = False
    entries: list[tuple[str, Decimal]] = field(default_factory=list)
    thresholds: list[dict[str, Any]] = field(default_factory=list)
    topped: Decimal = ZERO
    exhausted: bool = False
    events: list[tuple[str, Decimal, Decimal]] = field(default_factory=list)

    @property
    def counting(self) -> list[Portion]:
        return sorted((one for one in self.portions if one.started and not one.over), key=lambda one: one.order)

    @property
    def balance(self) -> Decimal:
        return sum((one.left for one in self.counting), ZERO) - self.overdraft

    @property
    def available(self) -> Decimal:
        return max(self.balance - self.floor, ZERO)

    @property
    def shown(self) -> tuple[list[tuple[str, Decimal]], list[tuple[str, Decimal, Decimal]]]:
        return sorted(self.entries), sorted(self.events)

    def set_floor(self, floor: Decimal) -> int:
        """Set the floor and return the reply's status. A lower floor makes the wallet usable again."""
        if floor > self.balance:
            return 422
        before, self.floor = self.floor, floor
        self.exhausted = self.exhausted and (floor >= before or not self.available)
        return 200

    def period_after(self, moment: datetime) -> datetime:
        local = moment.astimezone(self.zone).replace(tzinfo=None) + self.every
        return local.replace(tzinfo=self.zone).astimezone(UTC)

    def set_refill(self, refill: Refill | None, now: datetime) -> None:
        """Refill each period, starting now."""
        self.refill = refill
        if refill is None:
            self.anchor = self.next_refill = None
        elif self.anchor is None:
            self.anchor = now
            self.next_refill = self.period_after(now) if self.refilled else now
            for one in self.counting:
                one.ends = self.next_refill if one.id is None else one.ends
        self.roll_to(now)

    def due(self) -> list[tuple[datetime, int, Portion | None]]:
        found: list[tuple[datetime, int, Portion | None]] = []
        if self.next_refill is not None:
            found.append((self.next_refill, 1, None))
        for one in self.portions:
            if one.over:
                continue
            if not one.started:
                found.append((one.begins, 2, one))
            elif one.ends is not None and (one.id is not None or self.next_refill is None):
                found.append((one.ends, 0, one))
        return sorted(found, key=lambda one: one[:2])

    def roll_to(self, now: datetime) -> None:
        """Apply what is due. A balance is only low after all changes of a moment."""
        while (due := self.due()) and due[0][0] <= now:
            moment, before = due[0][0], self.balance
            while (due := self.due()) and due[0][0] == moment:
                portion = due[0][2]
                if portion is None:
                    self.make_refill(moment)
                elif portion.started:
                    self.take_out(portion, "expire")
                else:
                    self.start(portion)
            self.watch(before)

    def start(self, portion: Portion) -> None:
        before = self.balance
        covered = min(portion.amount, self.overdraft)
        self.overdraft -= covered
        portion.started, portion.left = True, portion.amount - covered
        self.entries.append((portion.entry, portion.amount))
        self.top_up(before)

    def top_up(self, before: Decimal) -> None:
        self.topped = self.balance
        self.exhausted = self.exhausted and not self.available
        self.events.append(("wallet.topped_up", self.balance, before))

    def take_out(self, portion: Portion, entry: str, rolled: Decimal = ZERO) -> None:
        left, portion.left, portion.over = portion.left, ZERO, True
        self.entries += [(type_, -sum_) for type_, sum_ in ((entry, left - rolled), ("carry", rolled)) if sum_]

    def watch(self, before: Decimal) -> None:
        """Record each threshold that the balance reached or passed, and an empty wallet."""
        for one in self.thresholds:
            level = self.topped * one["percent"] / 100 if "percent" in one else Decimal(one["value"])
            if before > level >= self.balance:
                self.events.append(("wallet.low", self.balance, before))
        if before > self.floor >= self.balance:
            self.exhaust(before)

    def exhaust(self, before: Decimal | None = None) -> None:
        """Record once that the wallet is empty or cannot pay for a check."""
        if not self.exhausted:
            self.exhausted = True
            self.events.append(("wallet.exhausted", self.balance, self.balance if before is None else before))

    def make_refill(self, moment: datetime) -> None:
        assert self.refill
        before = self.balance
        former = [one for one in self.counting if one.id is None]
        left = sum((one.left for one in former), ZERO)
        carried = min(self.refill.most, max(left, self.refill.least)) if self.refilled else ZERO
        rest = carried
        for one in former:
            rolled = min(one.left, rest)
            rest -= rolled
            self.take_out(one, "expire", rolled)
        self.refilled, self.next_refill = True, self.period_after(moment)
        made = Portion(None, carried + self.refill.amount, moment, self.next_refill)
        self.portions.append(made)
        self.start(made)
        self.entries[-1:] = [("carry", carried)] * bool(carried) + [("grant", self.refill.amount)]
        self.events[-1] = ("wallet.topped_up", self.balance, before)

    def void(self, portion: Portion) -> None:
        if portion.started and not portion.over:
            before = self.balance
            self.take_out(portion, "void")
            self.watch(before)
        portion.over = True

    def spend(self, amount: Decimal) -> None:
        before = self.balance
        self.entries.append(("spend", -amount))
        for one in self.counting:
            used = min(one.left, amount)
            one.left -= used
            amount -= used
        self.overdraft += amount
        self.watch(before)
