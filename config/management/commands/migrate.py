from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep

import psycopg
from django.core.management.commands import migrate
from django.db import OperationalError, connections

from kit.storage.lock_waits import short_lock_waits, until_unlocked
from kit.storage.postgresql.poolers import connection_string, keeps_no_session_state

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

        The session holds the lock, and asks for it without waiting: an index that is built concurrently waits for
        every open transaction, and would never end. Behind a pooler that shares out sessions there is no lock.
        """
        if connections[database].vendor != "postgresql" or keeps_no_session_state():
            yield
            return
        try:
            session = psycopg.connect(connection_string(database), autocommit=True, prepare_threshold=None)
        except psycopg.OperationalError as error:
            raise OperationalError(str(error)) from error
        with session:
            is_waiting = False
            while session.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone() != (True,):
                if not is_waiting:
                    self.stderr.write("Another process is migrating this database. Waiting for it.")
                is_waiting = True
                sleep(PAUSE)
            yield
