"""Group commits: the decisions of many requests are recorded by one statement."""

from asyncio import Future, sleep, wait
from collections.abc import Callable, Sequence
from itertools import chain
from time import perf_counter

from analytics.recording.batch import AsyncRecorder, find_conflicts
from analytics.recording.entries import Entry
from analytics.recording.outcomes import Outcome
from analytics.recording.recorder import commit
from kit.storage.microbatch import MicroBatch
from kit.storage.postgresql.timelines import Promoted
from licensing.access.event_loop.calls import Calls, in_thread
from licensing.access.event_loop.metrics import count_commit, failures

MAX_SECONDS_TO_GATHER = 0.005  # far more than a look-up on the event loop takes, and no more than a commit does
ENOUGH_TO_COMMIT = 50  # decisions: a commit of as many costs by its rows, and more would only come later
COMMITS_IN_FLIGHT = 2  # while one commits the next is sent; more would only make the batches smaller
SECONDS_TO_ASK_AGAIN = 0.001  # until a client's next request, on a connection that stays open
SEVERAL = 4  # requests that one commit answered: the next commit waits for what they ask again
MAX_SECONDS_ALONE = 0.05  # of a commit of ENOUGH_TO_COMMIT or more, or that spends; it may be waiting for a lock

Records = MicroBatch[Sequence[Entry], Sequence[Outcome]]  # of requests


class Commits:
    """The commits of this process. Every method is called on the event loop.

    `next_decisions` returns what requests wait for whose decisions are made next. `forget` is called when another
    server was promoted.
    """

    def __init__(
        self, calls: Calls, next_decisions: Callable[[], list[Future[None]]], forget: Callable[[], None]
    ) -> None:
        self.next_decisions, self.forget = next_decisions, forget
        self.write = AsyncRecorder().record if calls.on_loop else in_thread("recorder", commit)
        self.records: Records = MicroBatch(
            self.record, in_flight=COMMITS_IN_FLIGHT if calls.on_postgresql else 1, gather=self.gather
        )
        self.spending = self.records  # SQLite has one writer anyway
        if calls.on_postgresql:
            self.spending = MicroBatch(self.record_spending, in_flight=COMMITS_IN_FLIGHT, gather=self.gather_spending)
        self.being_written = 0  # decisions that do not spend
        self.spending_commits = 0  # under way
        self.spent_at, self.spent_together = 0.0, 0  # when the last of them ended, and how many requests it had

    async def gather(self) -> None:
        """Wait for checks that are being counted or looked up, so that they join the commit.

        A commit costs as much as several checks; without the wait, groups of requests would split into many small
        ones. A large commit keeps a core busy, and a second one at the same time would wait for the same pages.
        """
        if self.being_written >= ENOUGH_TO_COMMIT and (written := self.records.next_results()) is not None:
            await wait([written], timeout=MAX_SECONDS_ALONE)
        await self.gather_into(self.records)

    async def gather_spending(self) -> None:
        """Do the same for checks that spend. Two such commits at once would wait for each other's wallets.

        What arrives during a commit also waits a moment for the next requests of the clients that it answers.
        Otherwise the two groups would take turns for good, each with commits of its own.
        """
        if self.spending_commits and (written := self.spending.next_results()) is not None:
            await wait([written], timeout=MAX_SECONDS_ALONE)
        seconds = self.spent_at + SECONDS_TO_ASK_AGAIN - perf_counter()
        if seconds > 0 and self.spent_together >= SEVERAL:
            await sleep(seconds)
        await self.gather_into(self.spending)

    async def gather_into(self, records: Records) -> None:
        decisions = 0
        for submission in records.waiting:
            decisions += count_decisions(submission.item)
        if decisions >= ENOUGH_TO_COMMIT:
            return
        if expected := self.next_decisions():
            await wait(expected, timeout=MAX_SECONDS_TO_GATHER)

    async def record(self, many: Sequence[Sequence[Entry]]) -> list[Sequence[Outcome]]:
        """Record many requests in one commit, and count their decisions while it is under way."""
        size = sum(map(count_decisions, many))
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
        refusals = find_conflicts(many)
        fitting = [entry for entries, refusal in zip(many, refusals, strict=True) if not refusal for entry in entries]
        sizes = [len(entry.ids) for entries in many for entry in entries]
        begun = perf_counter()
        try:
            stored = iter(await self.write(fitting))
        except Exception as error:
            failures.values[0] += 1
            if isinstance(error, Promoted):
                self.forget()
                for records in {self.records, self.spending}:
                    records.fail_waiting(error)  # it was decided on what the former primary had
            raise
        outcomes: list[Sequence[Outcome]] = [
            [refusal or next(stored) for _ in entries] for entries, refusal in zip(many, refusals, strict=True)
        ]
        count_commit(perf_counter() - begun, chain.from_iterable(outcomes), sizes)
        return outcomes


def count_decisions(entries: Sequence[Entry]) -> int:
    """Return the number of decisions of a request."""
    decisions = 0
    for entry in entries:
        decisions += len(entry.ids)
    return decisions
