"""Access checks on the event loop: the way of a check that is fast (docs/explanation/architecture.md).

Facts are cached in the process: no SQL is read while they hold, plan limits take one shared round trip, and the record
one shared commit. That commit stores only what was decided on facts that still hold; a decision on others is made
again. What one statement cannot record is decided in a transaction (licensing.access.checks).
"""

from asyncio import sleep, wait
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from time import perf_counter
from typing import TypeVar

from django.db import connection

from accounts.keys.authentication import Grant
from accounts.keys.callers import Caller
from analytics.recording.batch import conflicts
from analytics.recording.entries import Entry, Reply
from analytics.recording.outcomes import Outcome
from analytics.recording.recorder import AsyncRecorder
from kit.http.errors import ApiError
from kit.storage.calls import Calls
from kit.storage.microbatch import MicroBatch, Turns, Work
from kit.storage.postgresql.timelines import Promoted
from licensing.access.answers import Answer
from licensing.access.charging.paying import spend_in_record
from licensing.access.check_values import Check
from licensing.access.checks import check_for_caller
from licensing.access.deciding import comparisons_of
from licensing.access.decisions import DecisionBatch, decide_checks
from licensing.access.event_loop import metrics
from licensing.access.event_loop.blocking_calls import (
    AtHost,
    find_hosts_now,
    keep_pages_now,
    needs_transaction,
    record_now,
    run_each,
)
from licensing.access.event_loop.cached_facts import CachedFacts
from licensing.access.event_loop.callers import Callers, Sender
from licensing.access.event_loop.metrics import count_commit, count_failed_commit
from licensing.access.event_loop.outcomes import stale_outcomes
from licensing.access.event_loop.retries import Retries
from licensing.access.event_loop.snapshot import Snapshot
from licensing.access.event_loop.stock import LicenseKeys, Signers
from licensing.access.lookup.request import LookupResult

R = TypeVar("R")
Keep = Callable[[DecisionBatch], Reply]
Render = Callable[[DecisionBatch], None]

MAX_ATTEMPTS = 5  # on cached facts
MOST_COMPARISONS = 20_000  # with conditions, that are made on the event loop: they take about 5 ms
MAX_SECONDS_TO_GATHER = 0.005  # far more than a look-up on the event loop takes, and no more than a commit does
ENOUGH_TO_COMMIT = 50  # decisions: a commit of as many costs by its rows, and more would only come later
COMMITS_IN_FLIGHT = 2  # while one commits the next is sent; more would only make the batches smaller
SECONDS_TO_ASK_AGAIN = 0.001  # until a client's next request, on a connection that stays open
SEVERAL = 4  # requests that one commit answered: the next commit waits for what they ask again
MAX_SECONDS_ALONE = 0.05  # of a commit of ENOUGH_TO_COMMIT or more, or that spends; it may be waiting for a lock


class Gateway:
    """The checks of this process. Every method is called on the event loop."""

    def __init__(self, calls: Calls | None = None) -> None:
        calls = calls or Calls()
        self.snapshot = Snapshot()
        self.callers = Callers(self.snapshot, calls)
        on_postgresql = connection.vendor == "postgresql"
        self.write = AsyncRecorder().record if calls.on_loop else calls.blocking("recorder", record_now)
        self.records: MicroBatch[Sequence[Entry], Sequence[Outcome]] = calls.shared(
            self.record, in_flight=COMMITS_IN_FLIGHT if on_postgresql else 1, gather=self.gather
        )
        self.spending = self.records  # SQLite has one writer anyway
        if on_postgresql:
            self.spending = calls.shared(
                self.record_spending, in_flight=COMMITS_IN_FLIGHT, gather=self.gather_spending
            )
        self.being_written = 0  # decisions that do not spend
        self.spending_commits = 0  # under way
        self.spent_at, self.spent_together = 0.0, 0  # when the last of them ended, and how many requests it had
        self.facts = CachedFacts(self.snapshot, calls, self.gather_counted)
        self.transactions: MicroBatch[Work, Exception | None] = calls.shared(
            calls.blocking("transactions", run_each), max_items=20, max_waiting=1_000
        )
        self.parsing: MicroBatch[Work, Exception | None] = calls.shared(
            calls.blocking("parsing", run_each), max_items=1, max_waiting=1_000
        )
        self.hosts: MicroBatch[AtHost, tuple[str, ...]] = calls.shared(
            calls.blocking("hosts of sites", find_hosts_now)
        )
        self.other_hosts: MicroBatch[str, None] = calls.shared(calls.blocking("other hosts", keep_pages_now))
        self.retries = Retries(calls) if calls.on_loop else None  # without them each key is claimed in a transaction
        self.signers, self.license_keys = Signers(calls), LicenseKeys(calls)
        self.turns_to_parse, self.turns = Turns(max_waiting=20), Turns(max_waiting=1_000)
        self.promotions = 0  # of another server, since this process began

    # --- What is asked -----------------------------------------------------------------------------------------------

    async def parse(self, account_id: str, parse: Callable[[], R]) -> R:
        """Parses in a thread what may take long. Raises ApiError."""
        async with self.turns_to_parse.of(account_id):
            return await result_of(self.parsing, parse)

    async def check(
        self, sender: Sender, checks: Sequence[Check], now: datetime, render: Render | None = None
    ) -> list[Answer | ApiError]:
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
    ) -> list[Answer | ApiError] | None:
        """Decide and record on cached facts, again while they turn out stale; None if that needs a transaction.

        `keep` makes the reply that is stored with the record. Raises what `keep` raises, and KeyTaken.
        """
        sender.grant.check(now)  # it may have expired since its head came
        if [check for check in checks if check.dry_run]:
            return None
        account_id, in_record = sender.grant.account_id, True  # the record writes new requesters, if it can
        for _ in range(MAX_ATTEMPTS):
            promotions = self.promotions
            found = await self.facts.look_up(account_id, checks, in_record)
            if not self.snapshot.vouches(sender.grant, found.epoch) and not await self.readmit(sender, found.epoch):
                continue
            if promotions != self.promotions:  # key or facts may come from the former primary
                await sender.readmit()
                continue
            # The decision of a single check about one page is always short.
            if (len(checks) > 1 or checks[0].edge) and comparisons_of(checks, found) > MOST_COMPARISONS:
                return None
            batch = self.decide(sender.grant, checks, found, now)
            if needs_transaction(batch, keeps=keep is not None):
                return None
            outcomes = await self.record_batch(sender, batch, now, keep, render)
            stale = stale_outcomes(self.snapshot, account_id, found.epoch, outcomes)
            if not stale:
                sender.is_confirmed = True
                self.facts.remember(account_id, found.epoch, batch.unwritten)
                return batch.settle(outcomes)
            if stale[0].unpaid:
                return None
            in_record = not (batch.unwritten and stale[0].retry)
        return None

    def record_batch(
        self, sender: Sender, batch: DecisionBatch, now: datetime, keep: Keep | None, render: Render | None
    ) -> Awaitable[Sequence[Outcome]]:
        """Record the decisions with their spending, and with the reply that `keep` makes of them.

        Await it at once.
        """
        spend_in_record(batch)
        if keep is not None:
            batch.keep(keep(batch))
        if sender.is_awaited is not None:
            batch.record_if(sender.is_awaited)
        self.callers.note_use(sender.grant, now)
        records = self.spending if batch.spends else self.records
        return records.result_of(batch.entries, render and partial(render, batch))

    async def readmit(self, sender: Sender, epoch: int) -> bool:
        """Admit the request again by its key's current grant. Returns whether that holds at the epoch."""
        await sender.readmit()
        return self.snapshot.vouches(sender.grant, epoch)

    def decide(self, grant: Grant, checks: Sequence[Check], found: LookupResult, now: datetime) -> DecisionBatch:
        return decide_checks(
            checks,
            found,
            grant.account_key,
            now,
            grant.key_id,
            unlisted_signers_pay=grant.unlisted_signers_pay,
            stores_full_addresses=grant.stores_full_addresses,
        )

    async def in_transaction(self, sender: Sender, now: datetime, act: Callable[[Caller], R]) -> R:
        """Decide in the account's turn, in a transaction, on facts read afresh: what `needs_transaction`, dry runs,
        and the checks of an account that changes faster than they are decided. Raises what keeps them from being
        decided.

        Dry runs and unknown items leave no record that would confirm the key, so it is read again.
        """
        await sender.confirm()
        await sender.readmit()
        async with self.turns.of(sender.grant.account_id):
            self.callers.note_use(sender.grant, now)
            caller = Caller(sender.grant, sender.address, sender.permission, sender.is_awaited)
            return await result_of(self.transactions, lambda: act(caller))

    async def gather_counted(self) -> None:
        """Wait for requests that are being counted, so that they join the look-up in a thread.

        What a look-up costs depends little on its number of items.
        """
        if (limits := self.callers.limits) is not None and (counted := limits.answers()) is not None:
            await wait([counted], timeout=MAX_SECONDS_TO_GATHER)

    async def gather(self) -> None:
        """Wait for checks that are being counted or looked up, so that they join the commit.

        A commit costs as much as several checks; without the wait, groups of requests would split into many small
        ones. A large commit keeps a core busy, and a second one at the same time would wait for the same pages.
        """
        if self.being_written >= ENOUGH_TO_COMMIT and (written := self.records.answers()) is not None:
            await wait([written], timeout=MAX_SECONDS_ALONE)
        await self.gather_into(self.records)

    async def gather_spending(self) -> None:
        """Do the same for checks that spend. Two such commits at once would wait for each other's wallets.

        What arrives during a commit also waits a moment for the next requests of the clients that it answers.
        Otherwise the two groups would take turns for good, each with commits of its own.
        """
        if self.spending_commits and (written := self.spending.answers()) is not None:
            await wait([written], timeout=MAX_SECONDS_ALONE)
        seconds = self.spent_at + SECONDS_TO_ASK_AGAIN - perf_counter()
        if seconds > 0 and self.spent_together >= SEVERAL:
            await sleep(seconds)
        await self.gather_into(self.spending)

    async def gather_into(self, records: MicroBatch[Sequence[Entry], Sequence[Outcome]]) -> None:
        if sum(len(entry.ids) for entries, _, _ in records.waiting for entry in entries) >= ENOUGH_TO_COMMIT:
            return
        calls = (self.callers.limits, self.facts.quick_lookups)
        expected = [answers for call in calls if call is not None and (answers := call.answers()) is not None]
        if expected:
            await wait(expected, timeout=MAX_SECONDS_TO_GATHER)

    async def record(self, many: Sequence[Sequence[Entry]]) -> list[Sequence[Outcome]]:
        """Record many requests in one commit, and count their decisions while it is under way."""
        size = sum(len(entry.ids) for entries in many for entry in entries)
        self.being_written += size
        try:
            return await self.write_all(many)
        finally:
            self.being_written -= size

    async def record_spending(self, many: Sequence[Sequence[Entry]]) -> list[Sequence[Outcome]]:
        """Do the same for requests that spend."""
        self.spending_commits += 1
        try:
            return await self.write_all(many)
        finally:
            self.spending_commits -= 1
            self.spent_at, self.spent_together = perf_counter(), len(many)

    async def write_all(self, many: Sequence[Sequence[Entry]]) -> list[Sequence[Outcome]]:
        """Record many requests in one commit, each entirely or not at all."""
        refusals = conflicts(many)
        fitting = [entry for entries, refusal in zip(many, refusals, strict=True) if not refusal for entry in entries]
        sizes = [len(entry.ids) for entries in many for entry in entries]
        begun = perf_counter()
        try:
            stored = iter(await self.write(fitting))
        except Exception as error:
            count_failed_commit()
            if isinstance(error, Promoted):
                self.forget(error)
            raise
        outcomes: list[Sequence[Outcome]] = [
            [refusal or next(stored) for _ in entries] for entries, refusal in zip(many, refusals, strict=True)
        ]
        count_commit(perf_counter() - begun, chain.from_iterable(outcomes), sizes)
        return outcomes

    def forget(self, promoted: Promoted) -> None:
        """Forget what was read from the former primary, and fail what was decided on it."""
        self.promotions += 1
        self.snapshot.clear()
        self.facts.numbers.free.clear()
        for records in {self.records, self.spending}:
            records.fail_waiting(promoted)

    def note_state(self) -> None:
        """Set the gauges of waiting and cached entries."""
        waiting = len(self.records.waiting)
        metrics.waiting.values[0] = waiting + (len(self.spending.waiting) if self.spending is not self.records else 0)
        metrics.entries.values[0] = len(self.snapshot.entries) + len(self.snapshot.grants)


async def result_of(calls: MicroBatch[Work, Exception | None], act: Callable[[], R]) -> R:
    """Return the result of a function that one of the calls runs. Raises its error."""
    results: list[R] = []

    def work() -> None:
        results.append(act())

    error = await calls.submit(work)
    if error is not None:
        raise error
    return results[0]
