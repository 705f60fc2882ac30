"""The arithmetic of one wallet: grants that start, end or are refilled by a given time, and the grants a spend uses.

It works on rows in memory, under the lock of the wallet's row if its result is stored. Between two changes the set of
grants that count stays the same, so spends need not be allocated to grants one by one: the balance alone says how much
was spent since, and grants are used in one order.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal

from analytics.wallets.events import EXHAUSTED, TOPPED_UP, News, build_news, thresholds_reached
from analytics.wallets.models import Grant, GrantKind, RefillPeriod, Wallet, WalletEntry, WalletEntryType
from analytics.wallets.units import ACCESS
from kit.values.calendar import add_days, add_months

NEVER = datetime.max.replace(tzinfo=UTC)
DAYS = {RefillPeriod.DAY: 1, RefillPeriod.WEEK: 7}
MONTHS = {RefillPeriod.MONTH: 1, RefillPeriod.YEAR: 12}
ZERO = Decimal(0)


def occurrence(anchor: datetime, every: str, number: int, zone: tzinfo) -> datetime:
    """The beginning of the period with that number, counted from the anchor's. Months end early where days lack."""
    if every in DAYS:
        return add_days(anchor, DAYS[RefillPeriod(every)] * number, zone)
    return add_months(anchor, MONTHS[RefillPeriod(every)] * number, zone)


def period_after(anchor: datetime, every: str, moment: datetime, zone: tzinfo) -> datetime:
    """The beginning of the first period after a moment; the anchor itself if that is later."""
    if moment < anchor:
        return anchor
    if every in DAYS:
        passed = (moment - anchor) // timedelta(days=DAYS[RefillPeriod(every)])
    else:
        passed = ((moment.year - anchor.year) * 12 + moment.month - anchor.month) // MONTHS[RefillPeriod(every)]
    number = max(passed - 1, 0)
    while (begin := occurrence(anchor, every, number, zone)) <= moment:
        number += 1
    return begin


def order_of_spending(grant: Grant) -> tuple[int, datetime, datetime, str]:
    return grant.priority, grant.expires_at or NEVER, grant.effective_at, grant.pk


class Book:
    """A wallet with its open grants. `entries`, `touched` and `news` have to be stored with the wallet."""

    def __init__(self, wallet: Wallet, grants: Iterable[Grant]) -> None:
        self.wallet = wallet
        self.grants = [grant for grant in grants if grant.ended_at is None]
        self.entries: list[WalletEntry] = []
        self.touched: dict[str, Grant] = {}
        self.news: list[News] = []

    @property
    def counting(self) -> list[Grant]:
        """The grants that are part of the balance, in the order in which they are spent."""
        counting = (grant for grant in self.grants if grant.started and grant.ended_at is None)
        return sorted(counting, key=order_of_spending)

    def roll_to(self, now: datetime) -> None:
        """Apply everything that is due, in the order of its moments: ends before refills before starts.

        A balance is low only after all changes of a moment, so credit that replaces expired credit is not announced
        as missing.
        """
        while (due := self.next_change()) is not None and due <= now:
            before = self.wallet.balance
            for grant in self.counting:
                if not self.is_refilled(grant) and grant.expires_at is not None and grant.expires_at <= due:
                    self.take_out(grant, grant.expires_at, WalletEntryType.EXPIRE)
            if self.wallet.next_refill_at is not None and self.wallet.next_refill_at <= due:
                self.refill(self.wallet.next_refill_at)
            for grant in self.grants:
                if not grant.started and grant.ended_at is None and grant.effective_at <= due:
                    self.start(grant)
            self.watch(before, due)
        self.wallet.next_change_at = self.next_change()

    def next_change(self) -> datetime | None:
        moments = [self.wallet.next_refill_at]
        for grant in self.grants:
            if grant.ended_at is None:
                moments.append(grant.effective_at if not grant.started else self.end_of(grant))
        return min((moment for moment in moments if moment is not None), default=None)

    def end_of(self, grant: Grant) -> datetime | None:
        return None if self.is_refilled(grant) else grant.expires_at

    def is_refilled(self, grant: Grant) -> bool:
        """Whether the next refill ends the grant, and carries over what is left."""
        return grant.kind == GrantKind.REFILL and self.wallet.next_refill_at is not None

    # --- What happens ------------------------------------------------------------------------------------------------

    def make_grant(self, amount: Decimal, now: datetime, **fields: object) -> Grant:
        """Return a new grant, which is not part of the balance yet. It is effective from now, unless given."""
        fields = {"account_id": self.wallet.account_id, "effective_at": now, "created": now, **fields}
        return Grant(wallet=self.wallet, amount=amount, remaining=amount, **fields)

    def add(self, grant: Grant, entry: str = WalletEntryType.GRANT) -> None:
        """Add a grant and start it: its amount counts from now on."""
        self.grants.append(grant)
        self.start(grant, entry)

    def start(self, grant: Grant, entry: str = WalletEntryType.GRANT) -> None:
        self.allocate()  # it pays nothing that was spent before
        before = self.wallet.balance
        grant.started, grant.remaining = True, grant.amount
        self.wallet.balance += grant.amount
        self.top_up(before)
        self.touch(grant)
        self.note(entry, grant.amount, grant.effective_at, grant)

    def top_up(self, before: Decimal) -> None:
        """Announce credit that was added, from which thresholds in per cent count."""
        wallet = self.wallet
        wallet.reference = wallet.balance
        if wallet.available:
            wallet.exhausted_at = None
        self.news.append(build_news(TOPPED_UP, wallet, before))

    @property
    def balance_to_move(self) -> Decimal:
        """The part of the balance that a merge moves. Money below 0 stays behind: the former customer owes it."""
        return self.wallet.balance if self.wallet.unit == ACCESS else max(self.wallet.balance, ZERO)

    def hand_over(self, now: datetime) -> Decimal:
        """Take the balance out for another requester, and return how much of it moves."""
        self.close_spent(now)
        moved = self.balance_to_move
        self.note(WalletEntryType.CARRY, -self.wallet.balance, now)
        self.wallet.balance = ZERO
        return moved

    def move_to(self, requester: int, now: datetime) -> None:
        """Let the wallet and its balance count for another requester."""
        moved = self.hand_over(now)
        self.wallet.requester_id = requester
        self.note(WalletEntryType.CARRY, moved, now)
        self.wallet.balance = moved
        if self.wallet.available:
            self.wallet.exhausted_at = None

    def carry(self, amount: Decimal, now: datetime) -> None:
        """Take over the balance of a merged wallet, which is negative for accesses if that one was overdrawn."""
        before = self.wallet.balance
        self.note(WalletEntryType.CARRY, amount, now)
        self.wallet.balance += amount
        if amount > 0:
            self.top_up(before)
        self.watch(before, now)

    def spend(self, amount: Decimal, now: datetime) -> None:
        before = self.wallet.balance
        self.wallet.balance -= amount
        self.watch(before, now)

    def watch(self, before: Decimal, now: datetime) -> None:
        """Announce the thresholds that the balance has fallen to, or below, and that nothing is left."""
        wallet = self.wallet
        self.news += thresholds_reached(wallet, before)
        if wallet.balance <= wallet.floor < before:
            self.exhaust(before, now)

    def exhaust(self, before: Decimal, now: datetime) -> None:
        """Announce that nothing is left, or not enough for a check; once until credit is added."""
        if self.wallet.exhausted_at is None:
            self.wallet.exhausted_at = now
            self.news.append(build_news(EXHAUSTED, self.wallet, before))

    def take_out(self, grant: Grant, moment: datetime, entry: str, rolled: Decimal = ZERO) -> None:
        """Take the rest of the grant from the balance. `rolled` of it moves to the next refill."""
        self.allocate()
        left = grant.remaining
        self.wallet.balance -= left
        grant.remaining, grant.ended_at = ZERO, moment
        self.touch(grant)
        self.note(entry, rolled - left, moment, grant)
        self.note(WalletEntryType.CARRY, -rolled, moment, grant)

    def refill(self, moment: datetime) -> None:
        wallet = self.wallet
        self.allocate()
        before = wallet.balance
        former = [grant for grant in self.counting if grant.kind == GrantKind.REFILL]
        left = sum((grant.remaining for grant in former), ZERO)
        carried = min(wallet.rollover_max, max(left, wallet.rollover_min)) if wallet.refills else ZERO
        rest = carried
        for grant in former:
            rolled = min(grant.remaining, rest)
            rest -= rolled
            self.take_out(grant, moment, WalletEntryType.EXPIRE, rolled)
        wallet.refills += 1
        anchor = wallet.refill_anchor or moment
        wallet.next_refill_at = period_after(anchor, wallet.refill_every or "", moment, wallet.zone)
        amount = wallet.refill_amount or ZERO
        grant = self.make_grant(
            amount + carried, moment, kind=GrantKind.REFILL, expires_at=wallet.next_refill_at, started=True
        )
        self.grants.append(grant)
        self.touch(grant)
        wallet.balance += grant.amount
        self.top_up(before)
        self.note(WalletEntryType.CARRY, carried, moment, grant)
        self.note(WalletEntryType.GRANT, amount, moment, grant)

    def extend_refill(self) -> None:
        """Let the current refill last until the next one. Call it when the terms of refills have changed."""
        for grant in self.counting:
            if self.is_refilled(grant) and grant.expires_at != self.wallet.next_refill_at:
                grant.expires_at = self.wallet.next_refill_at
                self.touch(grant)

    def void(self, grant: Grant, now: datetime) -> None:
        grant.voided_at = now
        if grant.started:
            before = self.wallet.balance
            self.take_out(grant, now, WalletEntryType.VOID)
            self.watch(before, now)
        else:
            grant.remaining, grant.ended_at = ZERO, now
            self.touch(grant)
        self.wallet.next_change_at = self.next_change()

    def allocate(self) -> None:
        """Take what was spent since the last allocation from the grants."""
        counting = self.counting
        spent = sum((grant.remaining for grant in counting), ZERO) - self.wallet.balance
        for grant in counting:
            used = min(grant.remaining, spent)
            if used > 0:
                grant.remaining -= used
                spent -= used
                self.touch(grant)

    def close_spent(self, now: datetime) -> None:
        """End the grants that have nothing left. Call it before the rows are stored."""
        self.allocate()
        for grant in self.counting:
            if not grant.remaining:
                grant.ended_at = now
                self.touch(grant)
        self.wallet.next_change_at = self.next_change()

    def touch(self, grant: Grant) -> None:
        self.touched[grant.pk] = grant

    def note(
        self, type_: str, amount: Decimal, moment: datetime, grant: Grant | None = None, decision_id: str | None = None
    ) -> None:
        """Add an entry, unless its amount is 0. It counts for the wallet's requester."""
        if not amount:
            return
        self.entries.append(
            WalletEntry(
                account_id=self.wallet.account_id,
                wallet=self.wallet,
                requester_id=self.wallet.requester_id,
                type=type_,
                amount=amount,
                grant=grant,
                decision_id=decision_id,
                created=moment,
            )
        )
