"""Reads of one moment, and the moment up to which everything is committed."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import Any, TypeVar, cast

from django.db import connection as primary
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from kit.storage.replica import reading_connection

# Only writers have a transaction id. They keep it while their commit waits for a synchronous standby.
OLDEST_WRITER = """SELECT min(xact_start) FROM pg_stat_activity
WHERE datname = current_database() AND backend_xid IS NOT NULL AND pid <> pg_backend_pid()
  AND backend_type <> 'autovacuum worker'"""

IN_MEMORY: ContextVar[str] = ContextVar("in_memory", default="")  # the alias whose transaction has the settings
# A merge join would first sort a year's rows by day, on disk.
IN_MEMORY_SETTINGS = """SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true),
  set_config('enable_mergejoin', 'off', true)"""


M = TypeVar("M", bound=Model)


def in_chunks(rows: QuerySet[M], size: int) -> Iterator[list[M]]:
    """Yield the rows in the order of their keys, `size` of them by each query."""
    ordered = rows.order_by("pk")
    remaining = ordered
    while chunk := list(remaining[:size]):
        yield chunk
        remaining = ordered.filter(pk__gt=chunk[-1].pk)


def committed_until(now: datetime) -> datetime:
    """Return when the oldest transaction that is still writing began, or `now` if that is earlier.

    On PostgreSQL never later than the database's own time: if this machine's clock is ahead, others still record.

    Call it outside transactions and before reading. Records from before it are then committed, if they were written
    without delay: subtract the longest time from a record's timestamp to its transaction. On SQLite commits wait for
    nothing, so it returns `now`.
    """
    if primary.vendor != "postgresql":
        return now
    now = min(now, database_time())
    with primary.cursor() as cursor:
        cursor.execute(OLDEST_WRITER)
        [oldest] = cursor.fetchone()
    return now if oldest is None else min(now, oldest)


def database_time() -> datetime:
    """Return the time of PostgreSQL's clock, which all processes share."""
    with primary.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        [moment] = cursor.fetchone()
    return cast(datetime, moment)


def stored_now() -> datetime:
    """Return the time of what is stored for ever: PostgreSQL's; on SQLite this process's, which is the only one."""
    return database_time() if primary.vendor == "postgresql" else timezone.now()


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Open a transaction in which all queries see the data of one moment. Do not write in it.

    It is on the server that reports read from. On SQLite it takes no write lock, unlike Django's other transactions,
    so it neither blocks writers nor waits for them. Inside another transaction it changes nothing.
    """
    connection = reading_connection()
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        connection.ensure_connection()
        sqlite: Any = connection  # the type stubs lack transaction_mode
        former, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
        try:
            with transaction.atomic():
                yield
        finally:
            sqlite.transaction_mode = former
    else:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            # PostgreSQL's default, READ COMMITTED, takes a snapshot for each statement.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


@contextmanager
def use_memory() -> Iterator[None]:
    """Read one moment, and let PostgreSQL group and join in memory, without JIT compilation. Do not write in it.

    Wrapped around several reports, it runs them in one transaction.
    """
    read = reading_connection()
    with read_snapshot():
        if read.vendor != "postgresql" or IN_MEMORY.get() == read.alias:
            yield
            return
        with read.cursor() as cursor:
            cursor.execute(IN_MEMORY_SETTINGS)
        token = IN_MEMORY.set(read.alias)
        try:
            yield
        finally:
            IN_MEMORY.reset(token)
