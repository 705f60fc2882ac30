"""Access checks on the event loop: the way of a check that is fast (docs/explanation/architecture.md).

Facts are cached in the process: no SQL is read while they hold, plan limits take one shared round trip, and the record
one shared commit. That commit stores only what was decided on facts that still hold; a decision on others is made
again. What one statement cannot record is decided in a transaction (licensing.access.checks).
"""

from asyncio import Future, Lock, wait
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from accounts.keys.callers import Caller, Use, known_grants
from accounts.retries.idempotency import KeyTaken
from analytics.recording.entries import Reply
from analytics.recording.outcomes import Outcome, Unstored, refuse_late_recording
from kit.http.errors import ApiError, ClientGone, RateLimitExceeded
from kit.storage.microbatch import MicroBatch, Work
from licensing.access.charging.paying import spend_in_record
from licensing.access.check_values import Check
from licensing.access.checks import check_for_caller
from licensing.access.deciding import Answer, count_comparisons
from licensing.access.decisions import Decisions, decide_checks
from licensing.access.event_loop import metrics
from licensing.access.event_loop.blocking_calls import (
    AtHost,
    find_hosts_now,
    keep_pages_now,
    run_each,
)
from licensing.access.event_loop.cached_facts import CachedFacts, LicenseKeys, Signers
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.calls import Calls, in_thread
from licensing.access.event_loop.commits import MAX_SECONDS_TO_GATHER, Commits
from licensing.access.event_loop.retries import Retries
from licensing.access.event_loop.snapshot import Snapshot

R = TypeVar("R")
Keep = Callable[[Decisions], Reply]
Render = Callable[[Decisions], None]

MAX_ATTEMPTS = 5  # on cached facts
MOST_COMPARISONS = 20_000  # with conditions, that are made on the event loop: they take about 5 ms


class Turn:
    def __init__(self) -> None:
        self.lock = Lock()
        self.requests = 0  # that hold it or wait for it


class AccountTurns:
    """One turn at a time for each account, in order of arrival, so that its long work delays no other account.

    At `max_waiting` waiting requests of an account, further ones are rejected.
    """

    def __init__(self, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self.turns: dict[str, Turn] = {}

    @asynccontextmanager
    async def hold(self, account_id: str) -> AsyncIterator[None]:
        """Hold the account's turn. Raises RateLimitExceeded if too many of its requests wait."""
        turn = self.turns.setdefault(account_id, Turn())
        if turn.requests > self.max_waiting:
            raise RateLimitExceeded("Too many checks of this account wait for their turn.", retry_after=1)
        turn.requests += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.requests -= 1
            if turn.requests == 0:
                del self.turns[account_id]


class Gateway:
    """The checks of this process. Every method is called on the event loop."""

    def __init__(self, calls: Calls | None = None) -> None:
        self.calls = calls = calls or Calls()
        self.snapshot = Snapshot()
        self.callers = Callers(self.snapshot, calls)
        self.facts = CachedFacts(self.snapshot, calls, self.gather_counted)
        self.commits = Commits(calls, self.next_decisions, self.forget)
        self.transactions: MicroBatch[Work, Exception | None] = MicroBatch(
            in_thread("transactions", run_each), max_items=20, max_waiting=1_000
        )
        self.parsing: MicroBatch[Work, Exception | None] = MicroBatch(
            in_thread("parsing", run_each), max_items=1, max_waiting=1_000
        )
        self.hosts: MicroBatch[AtHost, tuple[str, ...]] = MicroBatch(in_thread("hosts of sites", find_hosts_now))
        self.other_hosts: MicroBatch[str, None] = MicroBatch(in_thread("other hosts", keep_pages_now))
        self.retries = Retries(calls)
        self.signers, self.license_keys = Signers(), LicenseKeys()
        self.turns_to_parse, self.turns = AccountTurns(max_waiting=20), AccountTurns(max_waiting=1_000)
        self.promotions = 0  # of another server, since this process began

    # --- Checks ------------------------------------------------------------------------------------------------------

    async def parse(self, account_id: str, parse: Callable[[], R]) -> R:
        """Parses in a thread what may take long. Raises ApiError."""
        async with self.turns_to_parse.hold(account_id):
            return await result_of(self.parsing, parse)

    async def check(
        self, sender: Sender, checks: Sequence[Check], now: datetime, render: Render | None = None
    ) -> Sequence[Answer | ApiError]:
        """Decide and record the checks of an admitted request.

        Returns the answers in the order of the checks; an answer is NotFound if the item does not exist. Raises
        Outdated if the key is for other hosts now. `render` may be called during the commit, with answers that may
        change.

        The record confirms that the key and the facts are of one epoch: a key that was revoked, or lost its
        permission, gets no decision, however long the body took to arrive.
        """
        answers = await self.check_on_cached_facts(sender, checks, now, render=render)
        if answers is None:
            answers = await self.in_transaction(sender, now, lambda caller: check_for_caller(caller, checks, now))
        return answers

    async def check_on_cached_facts(
        self,
        sender: Sender,
        checks: Sequence[Check],
        now: datetime,
        keep: Keep | None = None,
        render: Render | None = None,
    ) -> Sequence[Answer | ApiError] | None:
        """Decide and record on cached facts, again while they turn out stale; None if that needs a transaction.

        `keep` makes the reply that is stored with the record. Raises what `keep` raises, and KeyTaken.
        """
        sender.grant.check(now)  # it may have expired since its head came
        for check in checks:
            if check.dry_run:
                return None
        account_id = sender.grant.account_id
        in_record = True  # the record writes new requesters, if it can
        for _ in range(MAX_ATTEMPTS):
            promotions = self.promotions
            facts = await self.facts.look_up(account_id, checks, in_record)
            if not self.snapshot.vouches(sender.grant, facts.epoch) and not await self.readmit(sender, facts.epoch):
                continue
            if promotions != self.promotions:  # key or facts may come from the former primary
                await sender.readmit()
                continue
            # The decision of a single check about one page is always short.
            if (len(checks) > 1 or checks[0].edge) and count_comparisons(checks, facts) > MOST_COMPARISONS:
                return None
            made = decide_checks(checks, facts, sender.grant.account_key, now, sender.grant)
            if made.need_transaction(keep_reply=keep is not None):
                return None
            outcomes = await self.record(sender, made, now, keep, render)
            unstored = self.reason_not_stored(account_id, facts.epoch, outcomes)
            if unstored is None:
                sender.is_confirmed = True
                if made.unwritten:
                    self.facts.remember(account_id, facts.epoch, made.unwritten)
                return made.settle(outcomes)
            if unstored is Unstored.UNPAID:
                return None
            in_record = not (made.unwritten and unstored is Unstored.RETRY)
        return None

    def record(
        self, sender: Sender, made: Decisions, now: datetime, keep: Keep | None, render: Render | None
    ) -> Awaitable[Sequence[Outcome]]:
        """Record the decisions with their spending, and with the reply that `keep` makes of them.

        Await it at once. `render` may be called during the commit.
        """
        if made.spends:
            made = spend_in_record(made)
        entries = made.entries
        if keep is not None:
            reply = keep(made)
            entries = [replace(entry, reply=reply) for entry in entries]
        elif sender.is_awaited is not None:
            entries = made.entries_while_awaited(sender.is_awaited)
        self.callers.note_use(Use(sender.grant), now)
        records = self.commits.spending if made.spends else self.commits.records
        return records.result_of(entries, render and partial(render, made))

    def reason_not_stored(self, account_id: str, epoch: int, outcomes: Sequence[Outcome]) -> Unstored | None:
        """Return why a request was not stored, None if it was; note the account's epoch.

        Raises KeyTaken, ClientGone, or ServiceUnavailable if it came too late.
        """
        if outcomes[0].behind:
            self.snapshot.note(account_id, epoch + 1)
        unstored = set()
        for outcome in outcomes:
            if outcome.unstored is not None:
                unstored.add(outcome.unstored)
        if not unstored:
            return None
        if Unstored.TAKEN in unstored:
            raise KeyTaken
        if Unstored.UNAWAITED in unstored:
            raise ClientGone()
        if Unstored.LATE in unstored:
            refuse_late_recording()
        if Unstored.STALE in unstored:
            self.snapshot.note(account_id, epoch + 1)
            return Unstored.STALE
        return Unstored.UNPAID if Unstored.UNPAID in unstored else Unstored.RETRY

    async def readmit(self, sender: Sender, epoch: int) -> bool:
        """Admit the request again by its key's current grant. Returns whether that holds at the epoch."""
        await sender.readmit()
        return self.snapshot.vouches(sender.grant, epoch)

    async def in_transaction(self, sender: Sender, now: datetime, act: Callable[[Caller], R]) -> R:
        """Decide in the account's turn, in a transaction, on facts read in it.

        For what one statement cannot record, for dry runs, and for the checks of an account that changes faster than
        they are decided. Raises what keeps them from being decided.

        Dry runs and unknown items leave no record that would confirm the key, so it is read again.
        """
        await sender.confirm()
        await sender.readmit()
        async with self.turns.hold(sender.grant.account_id):
            self.callers.note_use(Use(sender.grant), now)
            caller = Caller(sender.grant, sender.address, sender.permission, sender.is_awaited)
            return await result_of(self.transactions, lambda: act(caller))

    async def gather_counted(self) -> None:
        """Wait for requests that are being counted, so that they join the look-up in a thread.

        What a look-up costs depends little on its number of items.
        """
        if (limits := self.callers.limits) is not None and (counted := limits.next_results()) is not None:
            await wait([counted], timeout=MAX_SECONDS_TO_GATHER)

    def next_decisions(self) -> list[Future[None]]:
        """Return what requests wait for whose decisions are made next."""
        expected = []
        for call in (self.callers.limits, self.facts.quick_lookups):
            if call is not None and (results := call.next_results()) is not None:
                expected.append(results)
        return expected

    def forget(self) -> None:
        """Forget what was read from the former primary."""
        self.promotions += 1
        self.snapshot.clear()
        self.facts.numbers.free.clear()

    def note_state(self) -> None:
        """Set the gauges of waiting and cached entries."""
        queues = {self.commits.records, self.commits.spending}
        metrics.waiting.values[0] = sum(len(records.waiting) for records in queues)
        metrics.entries.values[0] = len(self.snapshot.entries) + len(known_grants.by_name)


async def result_of(calls: MicroBatch[Work, Exception | None], act: Callable[[], R]) -> R:
    """Return the result of a function that one of the calls runs. Raises its error."""
    results: list[R] = []

    def work() -> None:
        results.append(act())

    error = await calls.submit(work)
    if error is not None:
        raise error
    return results[0]
