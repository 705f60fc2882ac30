"""Micro-batching: concurrent requests share one call, so one round trip and one commit.

Everything that arrives during a call shares the next one, so the cost per request falls under load.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Generic, TypeVar

from msgspec import Struct

from kit.http.errors import ServiceUnavailable
from kit.storage import light_tasks
from kit.storage.light_tasks import AT_SHARED_CALL, MAX_SECONDS_AT_ONCE, LightTask, suspend
from kit.telemetry.tracing import traced

T = TypeVar("T")
R = TypeVar("R")
Waiter = asyncio.Future[R] | LightTask
Work = Callable[[], None]
Call = Callable[[Sequence[T]], Awaitable[Sequence[R]]]

MAX_OWNERS = 1_000  # whose idle batches are kept
MANY_WORKS = 4  # run them in a task of their own from this number on


class Submission(Struct, Generic[T, R], gc=False):
    """An item that waits for its call. `work` may be done while the call is under way."""

    item: T
    waiter: Waiter[R]
    work: Work | None


class MicroBatch(Generic[T, R]):
    """Runs `call(items) → results` on all submitted items, with up to `in_flight` calls at a time.

    `gather` is awaited before each call; items that arrive meanwhile join it.

    An item may carry work whose result is needed later, to be done while its call is under way and the event loop
    idle. The work may be skipped and its errors are ignored: code that needs the result does it then.

    An exception fails exactly the items of its call; one of `gather` fails all that wait. At `max_waiting` items
    further ones are rejected with ServiceUnavailable, which bounds memory.
    """

    def __init__(
        self,
        call: Call[T, R],
        *,
        in_flight: int = 1,
        max_items: int = 500,
        max_waiting: int = 10_000,
        gather: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.call, self.gather = call, gather
        self.in_flight, self.max_items, self.max_waiting = in_flight, max_items, max_waiting
        self.waiting: list[Submission[T, R]] = []
        self.tasks: set[asyncio.Task[None]] = set()  # the event loop holds only weak references
        self.results_notice: asyncio.Future[None] | None = None

    @traced(role="submission")
    def submit(self, item: T, work: Work | None = None) -> Awaitable[R]:
        """Queue an item and return a future of its result. Raises ServiceUnavailable if the queue is full."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.add(item, future, work)
        return future

    @traced(role="wait for result")
    def result_of(self, item: T, work: Work | None = None) -> Awaitable[R]:
        """Like `submit`, but must be awaited at once: a light task needs no future."""
        task = light_tasks.current
        if task is None:
            return self.submit(item, work)
        self.add(item, task, work)
        return suspend(AT_SHARED_CALL)

    def add(self, item: T, waiter: "Waiter[R]", work: Work | None) -> None:
        if len(self.waiting) >= self.max_waiting:
            raise ServiceUnavailable("The service is overloaded. Try again shortly.", retry_after=1)
        self.waiting.append(Submission(item, waiter, work))
        if len(self.waiting) == 1 and len(self.tasks) < self.in_flight:
            self.tasks.add(asyncio.get_running_loop().create_task(self.run()))

    def next_results(self) -> "asyncio.Future[None] | None":
        """Return a future that completes with the next results; None if nobody waits for any. Do not cancel it."""
        if self.tasks and self.results_notice is None:
            self.results_notice = asyncio.get_running_loop().create_future()
        return self.results_notice

    def fail_waiting(self, error: Exception) -> None:
        """Fail the items that wait for their call."""
        batch, self.waiting = self.waiting, []
        fail(batch, error)

    async def run(self) -> None:
        try:
            while self.waiting:
                if self.gather is not None:
                    try:
                        await self.gather()
                    except Exception as error:  # every waiting request reports it
                        self.fail_waiting(error)
                    if not self.waiting:  # or another call took them
                        return
                batch, self.waiting = self.waiting[: self.max_items], self.waiting[self.max_items :]
                await self.serve(batch)
                if self.results_notice is not None:
                    self.notify_of_results(self.results_notice)
        finally:
            self.tasks.discard(asyncio.current_task())
            if not self.tasks and self.results_notice is not None:
                self.notify_of_results(self.results_notice)

    def notify_of_results(self, notice: "asyncio.Future[None]") -> None:
        self.results_notice = None
        notice.set_result(None)

    @traced(role="batch")
    async def serve(self, batch: Sequence[Submission[T, R]]) -> None:
        items, works = [], []
        for submission in batch:
            items.append(submission.item)
            if submission.work is not None:
                works.append(submission.work)
        try:
            call = self.call(items)
            results = await (call if len(works) < MANY_WORKS else await_while_working(call, works))
            settled = list(zip(batch, results, strict=True))
        except Exception as error:  # every waiting request reports it
            fail(batch, error)
            return
        for submission, result in settled:
            if not submission.waiter.done():  # its client may have disconnected
                submission.waiter.set_result(result)


class MicroBatches(Generic[T, R]):
    """A micro-batch for each owner of items, so that nobody waits in the batch of an owner whose items take long.

    `make_batch` creates the batch of a call. All batches share `call`: give it several threads if it blocks, because a
    batch uses one of them at a time.
    """

    def __init__(
        self,
        call: Call[T, R],
        owner_of: Callable[[T], Hashable],
        make_batch: Callable[[Call[T, R]], MicroBatch[T, R]],
    ) -> None:
        self.call, self.owner_of, self.make_batch = call, owner_of, make_batch
        self.batches: dict[Hashable, MicroBatch[T, R]] = {}

    def result_of(self, item: T) -> Awaitable[R]:
        """Like MicroBatch.result_of, in the batch of the item's owner."""
        owner = self.owner_of(item)
        batch = self.batches.get(owner)
        if batch is None:
            if len(self.batches) >= MAX_OWNERS:
                self.batches = {known: batch for known, batch in self.batches.items() if batch.tasks}
            batch = self.batches[owner] = self.make_batch(self.run)
        return batch.result_of(item)

    def run(self, items: Sequence[T]) -> Awaitable[Sequence[R]]:
        return self.call(items)


def fail(batch: Sequence[Submission[T, R]], error: Exception) -> None:
    for submission in batch:
        if not submission.waiter.done():
            submission.waiter.set_exception(error)


async def await_while_working(call: Awaitable[R], works: Sequence[Work]) -> R:
    """Await the call while doing as much of the work as fits into MAX_SECONDS_AT_ONCE; return the call's result."""
    task = asyncio.ensure_future(call)
    for _ in range(2):  # the call starts in the first iteration and has been sent at the end of the second
        await asyncio.sleep(0)
    until = perf_counter() + MAX_SECONDS_AT_ONCE
    for work in works:
        with suppress(Exception):
            work()
        if perf_counter() > until:
            break
    return await task
