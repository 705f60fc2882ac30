"""Statements of migrations that wait for a lock only briefly, because everybody else queues up behind them.

A statement that changes a table needs it for itself. While it waits for a transaction that uses the table, PostgreSQL
lets no other statement pass it. So it gives up after MILLISECONDS, lets the others pass, and tries again.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from kit.storage.postgresql.poolers import keeps_no_session_state

logger = logging.getLogger(__name__)

MILLISECONDS = 200
PAUSES = [0.1, 0.2, 0.5, 1.0, *[2.0] * 150]  # seconds: about five minutes
LOCKED = {"55P03", "40P01"}  # SQLSTATEs: lock_not_available, deadlock_detected
R = TypeVar("R")


def was_locked_out(error: BaseException) -> bool:
    return isinstance(error, OperationalError) and getattr(error.__cause__, "sqlstate", None) in LOCKED


def until_unlocked(act: Callable[[], R]) -> R:
    """Call `act` until it gets its locks, and return its result. After all PAUSES raise what it raised.

    `act` must have no effect if it does not get them.
    """
    for pause in PAUSES:
        try:
            return act()
        except OperationalError as error:
            if not was_locked_out(error):
                raise
        logger.warning("A table is in use. Trying again.")
        time.sleep(pause)
    return act()


@contextmanager
def short_lock_transaction() -> Iterator[CursorWrapper]:
    """Open a transaction that waits for a lock only briefly, also behind a pooler; repeat it by `until_unlocked`."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {MILLISECONDS}")
        yield cursor


@contextmanager
def short_lock_timeout(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within the block, limit waits for locks on PostgreSQL, and repeat statements outside transactions.

    A transaction that does not get a lock has to be repeated as a whole, by the caller. Behind a pooler that shares
    out sessions by transaction there is no limit, because it would reach other clients.
    """

    def repeat(execute: Callable[..., R], sql: str, params: object, many: bool, context: Mapping[str, object]) -> R:
        def run() -> R:
            return execute(sql, params, many, context)

        return run() if connection.in_atomic_block else until_unlocked(run)

    if connection.vendor != "postgresql" or keeps_no_session_state():
        yield
        return
    set_lock_timeout(connection, MILLISECONDS)
    try:
        with connection.execute_wrapper(repeat):
            yield
    finally:
        set_lock_timeout(connection, None)


@contextmanager
def transaction_lock_timeout(timeout: str) -> Iterator[None]:
    """Within the block, limit the transaction's waits for locks on PostgreSQL. After an error, roll it back."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{timeout}'")
        yield
        cursor.execute("SET LOCAL lock_timeout = DEFAULT")


@contextmanager
def no_lock_timeout(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Within the block, let statements wait for locks as long as they need to.

    For statements that nobody queues up behind. CREATE INDEX CONCURRENTLY, for one, waits for transactions to end.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'")
        [before] = cursor.fetchone()
    if not before:
        yield
        return
    set_lock_timeout(connection, 0)
    try:
        yield
    finally:
        set_lock_timeout(connection, before)


def set_lock_timeout(connection: BaseDatabaseWrapper, milliseconds: int | None) -> None:
    """Limit the connection's waits for locks; None restores the server's default."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = {'DEFAULT' if milliseconds is None else milliseconds}")
