"""Where the engine of checks makes its calls to the database: on the event loop, or in threads."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db import connection

from kit.storage.microbatch import InThread

T = TypeVar("T")
R = TypeVar("R")
Call = Callable[[Sequence[T]], Sequence[R]]


class Calls:
    """Decides how an engine calls the database.

    If `on_loop`, PostgreSQL is called on the event loop itself. Otherwise, and on SQLite, calls are made in threads.
    With `in_request` they serve a single request of Django, on its thread and in its transaction.
    """

    def __init__(self, *, on_loop: bool = True, in_request: bool = False) -> None:
        self.on_postgresql = connection.vendor == "postgresql"
        self.on_loop = on_loop and not in_request and self.on_postgresql
        self.in_request = in_request


def in_thread(name: str, call: Call[T, R], threads: int = 1) -> InThread[T, R]:
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
