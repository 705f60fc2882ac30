"""Taking turns at writing on SQLite, which lets one write at a time and wakes those who wait in no order.

Its busy handler sleeps up to 100 ms and tries again, so steady writers starve the others: a second process beside 200
small writes a second waited for seconds each time. A lock hands the turn on at once: one of this process for its
threads, and a lock on a file beside the database, which the system lets go of when a process dies, for the processes.
On PostgreSQL writers need no turns.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from fcntl import LOCK_EX, flock
from pathlib import Path
from threading import RLock

from django.db import connection

lock = RLock()
held: list[int] = []  # the file that is locked by whoever has `lock`


def turn_to_write() -> AbstractContextManager[object]:
    return turn() if connection.vendor == "sqlite" else nullcontext()


@contextmanager
def turn() -> Iterator[None]:
    with lock:
        path = Path(str(connection.settings_dict["NAME"]))
        if held or not path.is_absolute():  # within a turn already, or a database in memory
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
