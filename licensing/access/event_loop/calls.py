"""Where the engine of checks makes its calls to the database: on the event loop, or in threads."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection

T = TypeVar("T")
R = TypeVar("R")
BlockingCall = Callable[[Sequence[T]], Sequence[R]]


class Calls:
    """Decides how an engine calls the database.

    If `on_loop`, PostgreSQL is called on the event loop itself. Otherwise, and on SQLite, calls are made in threads.
    With `in_request` they serve a single request of Django, on its thread and in its transaction.
    """

    def __init__(self, *, on_loop: bool = True, in_request: bool = False) -> None:
        self.on_postgresql = connection.vendor == "postgresql"
        self.on_loop = on_loop and not in_request and self.on_postgresql
        self.in_request = in_request


# Whether blocking calls run on the thread that waits in `async_to_sync`, in its transaction, instead of their own.
on_calling_thread: ContextVar[bool] = ContextVar("on_calling_thread", default=False)


class InThread(Generic[T, R]):
    """An awaitable version of a blocking call, run in its own thread, or in one of several.

    Switching threads costs more than a round trip, so use it only for rare or blocking-only calls.
    """

    def __init__(self, name: str, call: BlockingCall[T, R], threads: int = 1) -> None:
        self.name, self.call = name, call
        self.thread = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        if on_calling_thread.get():
            return await sync_to_async(self.call)(items)
        in_context = copy_context().run  # for the spans of a trace
        return await asyncio.get_running_loop().run_in_executor(self.thread, in_context, self.call, items)


def in_thread(name: str, call: BlockingCall[T, R], threads: int = 1) -> InThread[T, R]:
    """Return an awaitable version of a blocking call.

    It keeps the thread's database connection between calls, and closes a broken one.
    """

    def call_on_own_connection(items: Sequence[T]) -> Sequence[R]:
        if connection.vendor == "postgresql" and not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # returns it to the pool, which tests connections
        try:
            return call(items)
        except Exception:
            if not connection.in_atomic_block:  # a request of Django ends its transaction itself
                connection.close_if_unusable_or_obsolete()
            raise

    return InThread(name, call_on_own_connection, threads)
