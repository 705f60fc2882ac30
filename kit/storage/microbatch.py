"""Many requests of one moment share one call: one round trip, one commit.

All that arrive while a call is under way share the next, so the busier the service, the less each costs.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from time import perf_counter
from typing import Generic, TypeVar

from kit.http.errors import RateLimitExceeded, ServiceUnavailable
from kit.storage import light_tasks
from kit.storage.light_tasks import AT_SHARED_CALL, MAX_SECONDS_AT_ONCE, LightTask, what_is_sent
from kit.telemetry.tracing import traced

T = TypeVar("T")
R = TypeVar("R")
Waiter = asyncio.Future[R] | LightTask
Work = Callable[[], None]

MANY_WORKS = 4  # worth a task of their own


class MicroBatch(Generic[T, R]):
    """Runs `call(items) → results` over whatever has been submitted by then, at most `in_flight` calls at a time.

    `gather` is waited for before each call: what arrives meanwhile still joins it.

    An item may come with work that is needed afterwards, to be done while its call is under way and the event loop has
    nothing else to do. It may be left undone, and no error of it is told: who needs it does it then.

    An exception fails exactly the items of its call. Beyond `max_waiting` items nothing more is taken in: memory is
    bounded, and the client is told to come back.
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
        self.tasks: set[asyncio.Task[None]] = set()  # the loop itself holds tasks but weakly
        self.next_answers: asyncio.Future[None] | None = None

    @traced(role="submission")
    def submit(self, item: T, work: Work | None = None) -> "asyncio.Future[R]":
        """Raises ServiceUnavailable if too much is waiting."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self.add(item, future, work)
        return future

    @traced(role="wait for result")
    def result_of(self, item: T, work: Work | None = None) -> Awaitable[R]:
        """As `submit`, to be awaited at once: a light task needs no future."""
        task = light_tasks.current
        if task is None:
            return self.submit(item, work)
        self.add(item, task, work)
        return what_is_sent(AT_SHARED_CALL)

    def add(self, item: T, waiter: "Waiter[R]", work: Work | None) -> None:
        if len(self.waiting) >= self.max_waiting:
            raise ServiceUnavailable("The service is overloaded. Try again shortly.", retry_after=1)
        self.waiting.append((item, waiter, work))
        if len(self.waiting) == 1 and len(self.tasks) < self.in_flight:
            self.tasks.add(asyncio.get_running_loop().create_task(self.run()))

    def answers(self) -> "asyncio.Future[None] | None":
        """Done with the next answers; None if nobody waits for any. Not to be cancelled."""
        if self.tasks and self.next_answers is None:
            self.next_answers = asyncio.get_running_loop().create_future()
        return self.next_answers

    async def run(self) -> None:
        try:
            while self.waiting:
                if self.gather is not None:
                    await self.gather()
                    if not self.waiting:  # another call has taken them
                        return
                batch, self.waiting = self.waiting[: self.max_items], self.waiting[self.max_items :]
                await self.serve(batch)
                if self.next_answers is not None:
                    self.next_answers.set_result(None)
                    self.next_answers = None
        finally:
            self.tasks.discard(asyncio.current_task())

    @traced(role="batch")
    async def serve(self, batch: "list[tuple[T, Waiter[R], Work | None]]") -> None:
        works = [work for _, _, work in batch if work is not None]
        try:
            call = self.call([item for item, _, _ in batch])
            results = await (call if len(works) < MANY_WORKS else beside(call, works))
            answers = list(zip(batch, results, strict=True))
        except Exception as error:  # each waiting request answers it
            for _, waiter, _ in batch:
                if not waiter.done():
                    waiter.set_exception(error)
            return
        for (_, waiter, _), result in answers:
            if not waiter.done():  # its client may have gone
                waiter.set_result(result)


async def beside(call: Awaitable[R], works: Sequence[Work]) -> R:
    """The result of the call, and the works done while it is under way, as far as there is time for them."""
    task = asyncio.ensure_future(call)
    for _ in range(2):  # in the first turn the call begins, at the end of the second it has been sent
        await asyncio.sleep(0)
    until = perf_counter() + MAX_SECONDS_AT_ONCE
    for work in works:
        with suppress(Exception):
            work()
        if perf_counter() > until:
            break
    return await task


class InThread(Generic[T, R]):
    """A blocking call as an awaitable one, in a thread of its own. A hop between threads costs more than a round trip:
    it is for what is rare or cannot be had otherwise."""

    def __init__(self, name: str, call: Callable[[Sequence[T]], Sequence[R]]) -> None:
        self.name, self.call = name, call
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    @traced(role="thread")
    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self.call, items)


class Turns:
    """One turn at a time for each owner, in the order asked, so that no owner's long work holds up the others.

    Beyond `max_waiting` for one owner nothing more is taken in.
    """

    def __init__(self, max_waiting: int) -> None:
        self.max_waiting = max_waiting
        self.locks: dict[Hashable, tuple[asyncio.Lock, int]] = {}  # with how many hold or await it

    @asynccontextmanager
    async def of(self, owner: Hashable) -> AsyncIterator[None]:
        """Raises RateLimitExceeded if too many of the owner are waiting."""
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
