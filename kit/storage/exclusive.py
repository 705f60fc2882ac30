"""A lock that one process holds at a time, on PostgreSQL one of all machines. It ends with the process."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import psycopg
from django.db import connection

from kit.private_files import private_database
from kit.storage.postgresql.poolers import connection_string


class ExclusiveLock:
    """A lock with a number for PostgreSQL, and on SQLite a file beside the database, whose name ends with `suffix`.

    Calls must not overlap.
    """

    def __init__(self, number: int, suffix: str) -> None:
        self.number = number
        self.suffix = suffix
        self.held: psycopg.Connection | sqlite3.Connection | None = None  # while it is open, so is its transaction

    def take(self) -> bool:
        """Take the lock if it is free. Return whether this process holds it.

        Raises psycopg.OperationalError if PostgreSQL does not answer. Then nobody knows.
        """
        if self.held is not None and is_alive(self.held):
            return True
        self.release()
        self.held = self.take_on_postgresql() if connection.vendor == "postgresql" else self.take_on_sqlite()
        return self.held is not None

    def take_on_postgresql(self) -> psycopg.Connection | None:
        """Lock in a transaction: behind a pooler, a session's lock would stay in another client's session."""
        held = psycopg.connect(connection_string(), prepare_threshold=None)
        held.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # keeps no snapshot, so vacuum need not wait
        # PostgreSQL may be set to end transactions that wait for their client.
        held.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        if held.execute("SELECT pg_try_advisory_xact_lock(%s)", [self.number]).fetchone() == (True,):
            return held
        held.close()
        return None

    def take_on_sqlite(self) -> sqlite3.Connection | None:
        """Lock a file of its own, so that the lock blocks no readers."""
        database = Path(connection.settings_dict["NAME"])
        path = database.with_name(f"{database.name}{self.suffix}")
        private_database(path)
        held = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            held.close()
            return None
        return held

    def release(self) -> None:
        if self.held is not None:
            with suppress(psycopg.OperationalError), closing(self.held) as held:
                held.rollback()  # after a close alone, PostgreSQL frees the lock a moment later
            self.held = None


def is_alive(held: psycopg.Connection | sqlite3.Connection) -> bool:
    """Return whether the connection, and so its transaction, is still open."""
    try:
        held.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True
