"""Taking turns at writing on SQLite, which lets one write at a time and wakes those who wait in no order.

Its busy handler sleeps and tries again, so steady writers starve the others. Within the one process that SQLite serves
here, a lock hands the turn on at once. On PostgreSQL writers need no turns.
"""

from contextlib import AbstractContextManager, nullcontext
from threading import RLock

from django.db import connection

lock = RLock()


def turn_to_write() -> AbstractContextManager[object]:
    return lock if connection.vendor == "sqlite" else nullcontext()
