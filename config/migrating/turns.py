"""One process at a time changes the tables, or fills an empty database.

Also lets `migrate` know the migrations that squashed ones replace.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep

import psycopg
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from django.db.migrations import executor
from django.db.migrations.loader import MigrationLoader

from kit.storage.by_database import by_database
from kit.storage.postgresql.poolers import connection_string, keeps_no_session_state

LOCK = 7_202_611_048  # an arbitrary advisory lock number
PAUSE = 1.0  # seconds between two attempts
SQLITE_LOCK_SUFFIX = ".migrating"  # suffix of the locked file beside an SQLite database


@contextmanager
def turn_to_change(database: str = DEFAULT_DB_ALIAS, report: Callable[[str], object] = print) -> Iterator[None]:
    """Wait until no other process changes this database's tables, and keep others waiting within the block.

    Behind a pooler that shares out sessions there is no lock. Raises OperationalError if PostgreSQL does not answer.
    """
    turn = by_database(using=connections[database], postgresql=turn_on_postgresql, sqlite=turn_on_sqlite)
    with turn(database) as is_ours:
        is_waiting = False
        while not is_ours():
            if not is_waiting:
                report("Another process is migrating this database. Waiting for it.")
            is_waiting = True
            sleep(PAUSE)
        yield


@contextmanager
def turn_on_sqlite(database: str) -> Iterator[Callable[[], bool]]:
    """Lock a file beside the database. The operating system releases it when the process ends."""
    path = f"{connections[database].settings_dict['NAME']}{SQLITE_LOCK_SUFFIX}"
    handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:

        def is_ours() -> bool:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        yield is_ours
    finally:
        os.close(handle)


@contextmanager
def turn_on_postgresql(database: str) -> Iterator[Callable[[], bool]]:
    """Lock in a session of its own, which asks without waiting.

    An index that is built concurrently waits for every open transaction, and would otherwise never end.
    """
    if keeps_no_session_state():
        yield lambda: True
        return
    try:
        session = psycopg.connect(connection_string(database), autocommit=True, prepare_threshold=None)
    except psycopg.OperationalError as error:
        raise OperationalError(str(error)) from error
    with session:
        yield lambda: session.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() == (True,)


class EachMigrationLoader(MigrationLoader):
    """Load migrations without the squashed ones."""

    def load_disk(self) -> None:
        super().load_disk()
        self.disk_migrations = {
            key: migration for key, migration in self.disk_migrations.items() if not migration.replaces
        }


@contextmanager
def replaced_migrations() -> Iterator[None]:
    """Let `migrate` know the replaced migrations, to which a database can then be brought by name."""
    # MigrationExecutor takes no loader: it finds the class by this name in its module.
    setattr(executor, "MigrationLoader", EachMigrationLoader)  # noqa: B010 - mypy lets no class be assigned
    try:
        yield
    finally:
        setattr(executor, "MigrationLoader", MigrationLoader)  # noqa: B010
