"""Micro-batching: concurrent requests share one call, so one round trip and one commit.

Everything that arrives during a call shares the next one, so the cost per request falls under load.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar, copy_context
from time import perf_counter
from typing import Generic, TypeVar

from asgiref.sync import sync_to_async

from kit.http.errors import RateLimitExceeded, ServiceUnavailable
from kit.storage import light_tasks
from kit.storage.light_tasks import AT_SHARED_CALL, MAX_SECONDS_AT_ONCE, LightTask, suspend
from kit.telemetry.tracing import traced

T = TypeVar("T")
R = TypeVar("R")
Waiter = asyncio.Future[R] | LightTask
Work = Callable[[], None]

MAX_OWNERS = 1_000  # whose idle batches are kept
MANY_WORKS = 4  # run them in a task of their own from this number on


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
        call: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        *,
        in_flight: int = 1,
        max_items: int = 500,
        max_waiting: int = 10_000,
        gather: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.call, self.gather = call, gather
        self.in_flight, self.max_items, self.max_waiting = in_flight, max_items, max_waiting
        self.waiting: list[tuple[T, Waiter[R], Work | None]] = []
        self.tasks: set[asyncio.Task[None]] = set()  # the event loop holds only weak references
        self.next_answers: asyncio.Future[None] | None = None

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
        self.waiting.append((item, waiter, work))
        if len(self.waiting) == 1 and len(self.tasks) < self.in_flight:
            self.tasks.add(asyncio.get_running_loop().create_task(self.run()))

    def answers(self) -> "asyncio.Future[None] | None":
        """Return a future that completes with the next results; None if nobody waits for any. Do not cancel it."""
        if self.tasks and self.next_answers is None:
            self.next_answers = asyncio.get_running_loop().create_future()
        return self.next_answers

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
                if self.next_answers is not None:
                    self.notify_of_answers(self.next_answers)
        finally:
            self.tasks.discard(asyncio.current_task())
            if not self.tasks and self.next_answers is not None:
                self.notify_of_answers(self.next_answers)

    def notify_of_answers(self, answered: "asyncio.Future[None]") -> None:
        self.next_answers = None
        answered.set_result(None)

    @traced(role="batch")
    async def serve(self, batch: "list[tuple[T, Waiter[R], Work | None]]") -> None:
        items, works = [], []
        for item, _, work in batch:
            items.append(item)
            if work is not None:
                works.append(work)
        try:
            call = self.call(items)
            results = await (call if len(works) < MANY_WORKS else await_while_working(call, works))
            answers = list(zip(batch, results, strict=True))
        except Exception as error:  # every waiting request reports it
            fail(batch, error)
            return
        for (_, waiter, _), result in answers:
            if not waiter.done():  # its client may have disconnected
                waiter.set_result(result)


class MicroBatches(Generic[T, R]):
    """A micro-batch for each owner of items, so that nobody waits in the batch of an owner whose items take long.

    `make` creates the batch of a call. All batches share `call`: give it several threads if it blocks, because a batch
    uses one of them at a time.
    """

    def __init__(
        self,
        call: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        owner_of: Callable[[T], Hashable],
        make: "Callable[[Callable[[Sequence[T]], Awaitable[Sequence[R]]]], MicroBatch[T, R]]",
    ) -> None:
        self.call, self.owner_of, self.make = call, owner_of, make
        self.batches: dict[Hashable, MicroBatch[T, R]] = {}

    def result_of(self, item: T) -> Awaitable[R]:
        """Like MicroBatch.result_of, in the batch of the item's owner."""
        owner = self.owner_of(item)
        batch = self.batches.get(owner)
        if batch is None:
            if len(self.batches) >= MAX_OWNERS:
                self.batches = {known: batch for known, batch in self.batches.items() if batch.tasks}
            batch = self.batches[owner] = self.make(self.run)
        return batch.result_of(item)

    def run(self, items: Sequence[T]) -> Awaitable[Sequence[R]]:
        return self.call(items)


def fail(batch: "list[tuple[T, Waiter[R], Work | None]]", error: Exception) -> None:
    for _, waiter, _ in batch:
        if not waiter.done():
            waiter.set_exception(error)


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


# Whether blocking calls run on the thread that waits in `async_to_sync`, in its transaction, instead of their own.
on_calling_thread: ContextVar[bool] = ContextVar("on_calling_thread", default=False)


class InThread(Generic[T, R]):
    """An awaitable version of a blocking call, run in its own thread, or in one of several.

    Switching threads costs more than a round trip, so use it only for rare or blocking-only calls.
    """

    def __init__(self, name: str, call: Callable[[Sequence[T]], Sequence[R]], threads: int = 1) -> None:
        self.name, self.call = name, call
        self.thread = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        if on_calling_thread.get():
            return await sync_to_async(self.call)(items)
        in_context = copy_context().run  # for the spans of a trace
        return await asyncio.get_running_loop().run_in_executor(self.thread, in_context, self.call, items)


class Turns:
    """One turn at a time for each owner, in order of arrival, so that one owner's long work does not delay others.

    At `max_waiting` waiters of one owner, further ones are rejected.
    """

    def __init__(self, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self.locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}  # with the number of holders and waiters

    @asynccontextmanager
    async def of(self, owner: Hashable) -> AsyncIterator[None]:
        """Hold the owner's turn. Raises RateLimitExceeded if too many of its requests wait."""
        lock, users = self.locks.get(owner) or (asyncio.Lock(), 0)
        if users > self.max_waiting:
            raise RateLimitExceeded("Too many checks of this account wait for their turn.", retry_after=1)
        self.locks[owner] = lock, users + 1
        try:
            async with lock:
                yield
        finally:
            _, users = self.locks[owner]
            if users == 1:
                del self.locks[owner]
            else:
                self.locks[owner] = lock, users - 1
