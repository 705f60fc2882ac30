from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

import psycopg
from django.core.management.commands import migrate
from django.db import OperationalError, connections

from kit.storage.lock_waits import short_lock_waits, until_unlocked
from kit.storage.poolers import connection_string

LOCK = 7_202_611_048  # an arbitrary advisory lock number
PAUSE = 1.0  # seconds between two attempts


class Command(migrate.Command):
    """Django's command. A migration that does not get its locks is rolled back and run again.

    Migrations that have run are recorded, so a second call continues where the first one stopped. On PostgreSQL one
    process migrates at a time; others, such as replicas that start together, wait and find nothing to do.
    """

    help = "Creates and changes the tables for this version. A running service waits for it only for moments."

    def handle(self, *args: object, database: str, **options: object) -> None:
        with self.turn(database), short_lock_waits(connections[database]):
            until_unlocked(lambda: super(Command, self).handle(*args, database=database, **options))

    @contextmanager
    def turn(self, database: str) -> Iterator[None]:
        """Wait until no other process migrates this database, and keep others waiting within the block.

        A transaction holds the lock, because a pooler may share out sessions. It has no snapshot meanwhile, and asks
        without waiting: an index that is built concurrently would wait for both.
        """
        if connections[database].vendor != "postgresql":
            yield
            return
        try:
            lock = psycopg.connect(connection_string(database), prepare_threshold=None)
        except psycopg.OperationalError as error:
            raise OperationalError(str(error)) from error
        with lock:
            lock.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            is_waiting = False
            while lock.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK]).fetchone() != (True,):
                if not is_waiting:
                    self.stderr.write("Another process is migrating this database. Waiting for it.")
                is_waiting = True
                sleep(PAUSE)
            yield
