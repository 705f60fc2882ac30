"""The time limit on the statements of web requests. Commands, migrations and maintenance have none.

PostgreSQL ends a statement by itself (`statement_timeout`, see kit.storage.postgresql). SQLite asks every few
milliseconds whether to go on, and so stops also when nobody waits for the answer any more.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Event
from time import monotonic
from typing import TypeVar

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

STEPS = 50_000  # of SQLite's virtual machine between two questions: about a millisecond
CANCELED = "57014"  # PostgreSQL's SQLSTATE
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Bound:
    """`seconds` for each statement. `gone` is set when the client has left and the work may be dropped for it."""

    seconds: float
    gone: Event | None = None

    @property
    def is_for_nobody(self) -> bool:
        return self.gone is not None and self.gone.is_set()


bound: ContextVar[Bound | None] = ContextVar("statement_bound", default=None)


def milliseconds() -> int:
    """The time limit of a statement in milliseconds, for PostgreSQL's `statement_timeout`; 0 is none."""
    current = bound.get()
    return int(current.seconds * 1000) if current else 0


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Give the statements within the block this time limit on SQLite, whose connections look it up each time."""
    current = bound.get()
    token = bound.set(Bound(seconds, current.gone if current else None))
    try:
        yield
    finally:
        bound.reset(token)


def is_for_nobody() -> bool:
    """Whether the client has left, so that the work can be abandoned."""
    current = bound.get()
    return current is not None and current.is_for_nobody


def was_ended(error: BaseException) -> bool:
    """Whether the statement failed because of its time limit, or was interrupted after the client had left."""
    cause = error.__cause__
    return isinstance(error, OperationalError) and (
        getattr(cause, "sqlstate", None) == CANCELED or getattr(cause, "sqlite_errorname", None) == "SQLITE_INTERRUPT"
    )


class Clock:
    """When the current statement of a connection to SQLite began."""

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
    """Bounds the statements of a new connection to SQLite."""
    if connection.vendor != "sqlite":
        return
    clock = Clock()
    kept = [one for one in connection.execute_wrappers if not isinstance(one, Clock)]
    connection.execute_wrappers = [*kept, clock]
    connection.connection.set_progress_handler(clock.must_end, STEPS)


connection_created.connect(watch)
