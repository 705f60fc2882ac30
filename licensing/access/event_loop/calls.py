"""Where the engine of checks makes its calls to the database.

This is the only difference between a server and a request that Django serves: a server shares calls among all waiting
requests (`Calls`), a thread of Django makes each call at once, on its own connection (`DirectCalls`).
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from functools import wraps
from typing import Generic, TypeVar

from django.db import connection

from kit.http.admission import run_blocking
from kit.storage.microbatch import InThread, MicroBatch, Work

T = TypeVar("T")
R = TypeVar("R")
Call = Callable[[Sequence[T]], Awaitable[Sequence[R]]]
BlockingCall = Callable[[Sequence[T]], Sequence[R]]


def on_own_connection(call: BlockingCall[T, R]) -> BlockingCall[T, R]:
    """Decorate a call to keep the thread's database connection between calls, and close a broken one."""

    @wraps(call)
    def wrapped(items: Sequence[T]) -> Sequence[R]:
        if connection.vendor == "postgresql" and not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # returns it to the pool, which tests connections
        try:
            return call(items)
        except Exception:
            connection.close_if_unusable_or_obsolete()
            raise

    return wrapped


class Calls:
    """Shared calls of an event loop.

    If `on_loop`, PostgreSQL is called on the loop itself. Otherwise, and on SQLite, all calls are made in threads.
    """

    are_shared = True

    def __init__(self, *, on_loop: bool = True) -> None:
        self.on_loop = on_loop and connection.vendor == "postgresql"

    def blocking(self, name: str, call: BlockingCall[T, R], threads: int = 1) -> Call[T, R]:
        """Return an awaitable version of a blocking call."""
        return InThread(name, on_own_connection(call), threads)

    def shared(
        self,
        call: Call[T, R],
        *,
        in_flight: int = 1,
        max_items: int = 500,
        max_waiting: int = 10_000,
        gather: Callable[[], Awaitable[None]] | None = None,
    ) -> MicroBatch[T, R]:
        """Return the call as one that many requests share."""
        return MicroBatch(call, in_flight=in_flight, max_items=max_items, max_waiting=max_waiting, gather=gather)


class DirectCalls(Calls):
    """Calls of a single request, on its thread and in its transaction. They never suspend (kit.http.admission)."""

    are_shared = False

    def __init__(self) -> None:
        super().__init__(on_loop=False)

    def blocking(self, name: str, call: BlockingCall[T, R], threads: int = 1) -> Call[T, R]:
        async def call_here(items: Sequence[T]) -> Sequence[R]:
            return call(items)

        return call_here

    def shared(self, call: Call[T, R], **options: object) -> MicroBatch[T, R]:
        return DirectCall(call)


class DirectCall(MicroBatch[T, R]):
    """A call for one item at a time, made as soon as the item is submitted."""

    def submit(self, item: T, work: Work | None = None) -> "Ready[R]":
        [result] = run_blocking(self.call_one(item))
        return Ready(result)

    def result_of(self, item: T, work: Work | None = None) -> "Ready[R]":
        return self.submit(item)

    async def call_one(self, item: T) -> Sequence[R]:
        return await self.call([item])


class Ready(Generic[R]):
    """A result that needs no waiting."""

    def __init__(self, result: R) -> None:
        self.result = result

    def __await__(self) -> Generator[None, None, R]:
        return self.result
        yield
