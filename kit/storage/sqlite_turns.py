"""Fair turns for writers on SQLite, which allows one write at a time and wakes waiters in no particular order.

SQLite's busy handler sleeps up to 100 ms before a retry, so steady writers starve others: beside 200 small writes a
second, another process waited seconds for each write. A lock passes the turn on at once: a thread lock within a
process, and a lock on a file beside the database across processes, which the system releases if a process dies.
PostgreSQL needs no turns.
"""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fcntl import LOCK_EX, flock
from pathlib import Path
from threading import RLock

from django.db import connection

PAUSE_SECONDS = 0.005  # long enough for a waiting thread to take the turn
lock = RLock()
held: list[int] = []  # the file locked by the holder of `lock`


def others_wait() -> bool:
    """Whether other writers wait for the end of a transaction that writes: on SQLite."""
    return connection.vendor == "sqlite"


def rows_at_a_time(most: int, fewer: int) -> int:
    """Return how many rows a transaction writes: `fewer` where other writers wait for it."""
    return fewer if others_wait() else most


def empty_log() -> None:
    """Move SQLite's write-ahead log into the database and empty it: the log has former versions of rows.

    It waits for readers, at most as long as a statement waits for a lock.
    """
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def turn_to_write() -> AbstractContextManager[object]:
    return turn() if connection.vendor == "sqlite" else nullcontext()


@contextmanager
def turn() -> Iterator[None]:
    """Wait for the turn and hold it. A transaction that has begun needs none: it has the database's lock already.

    If it waited, it would block whoever has the turn and waits for that lock.
    """
    if connection.in_atomic_block:
        yield
        return
    with lock:
        path = Path(str(connection.settings_dict["NAME"]))
        if held or not path.is_absolute():  # nested turn, or a database in memory
            yield
            return
        file = os.open(f"{path}-turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        held.append(file)
        try:
            flock(file, LOCK_EX)
            yield
        finally:
            held.clear()
            os.close(file)


@contextmanager
def part_of_a_write() -> Iterator[None]:
    """Hold the turn for a part of a long write, then let writers that wait go first."""
    with turn_to_write():
        yield
    let_others_write()


def let_others_write() -> None:
    """Let writers that wait go first. Call it without the turn."""
    if others_wait():
        time.sleep(PAUSE_SECONDS)
