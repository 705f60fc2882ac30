"""The time limit for SQL statements of web requests. Commands, migrations and maintenance have none.

PostgreSQL enforces it (`statement_timeout`, see kit.storage.postgresql). On SQLite a callback runs every few
milliseconds and also stops statements whose client has disconnected.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from django.db import OperationalError, close_old_connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLite

STEPS = 50_000  # SQLite virtual machine steps between two callbacks: about a millisecond
CANCELED = "57014"  # PostgreSQL's SQLSTATE
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Bound:
    """A time limit of `seconds` per statement. `is_awaited` says whether the client is still connected."""

    seconds: float
    is_awaited: Callable[[], bool] | None = None

    @property
    def is_for_nobody(self) -> bool:
        return self.is_awaited is not None and not self.is_awaited()


bound: ContextVar[Bound | None] = ContextVar("statement_bound", default=None)


def milliseconds() -> int:
    """Return the time limit in milliseconds for PostgreSQL's `statement_timeout`; 0 means none."""
    current = bound.get()
    return int(current.seconds * 1000) if current else 0


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Set the time limit within the block. Takes effect on SQLite, which looks it up for each statement."""
    current = bound.get()
    token = bound.set(Bound(seconds, current.is_awaited if current else None))
    try:
        yield
    finally:
        bound.reset(token)


@contextmanager
def for_several_clients(seconds: float) -> Iterator[None]:
    """Set the time limit within the block, whose statements go on if the request's client disconnects."""
    token = bound.set(Bound(seconds))
    try:
        yield
    finally:
        bound.reset(token)


@contextmanager
def own_connection(seconds: float) -> Iterator[None]:
    """Set the time limit for a thread without a request, which replaces a broken connection and returns its own."""
    with time_limit(seconds):
        close_old_connections()
        try:
            yield
        finally:
            close_old_connections()


def is_for_nobody() -> bool:
    """Whether the client has disconnected, so that the work can be abandoned."""
    current = bound.get()
    return current is not None and current.is_for_nobody


def was_ended(error: BaseException) -> bool:
    """Whether the statement hit its time limit, or was interrupted because the client disconnected."""
    cause = error.__cause__
    return isinstance(error, OperationalError) and (
        getattr(cause, "sqlstate", None) == CANCELED or getattr(cause, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    )


class Clock:
    """Records when the current statement of an SQLite connection began."""

    def __init__(self) -> None:
        self.began = 0.0

    def __call__(
        self,
        execute: Callable[[str, object, bool, dict[str, object]], R],
        sql: str,
        params: object,
        many: bool,
        context: dict[str, object],
    ) -> R:
        self.began = monotonic()
        return execute(sql, params, many, context)

    def must_end(self) -> bool:
        current = bound.get()
        return current is not None and (monotonic() - self.began > current.seconds or current.is_for_nobody)


def watch(sender: object, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Limit the statements of a new SQLite connection."""
    clock = Clock()
    wrappers = [wrapper for wrapper in connection.execute_wrappers if not isinstance(wrapper, Clock)]
    connection.execute_wrappers = [*wrappers, clock]
    connection.connection.set_progress_handler(clock.must_end, STEPS)


connection_created.connect(watch, sender=SQLite)
