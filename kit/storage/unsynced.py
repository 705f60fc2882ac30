"""Transactions whose commit does not wait for the disk: atomic and seen at once as ever, but the database's own crash
may undo the last of them. For what is then done again."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from kit.storage.sqlite_turns import turn_to_write


@contextmanager
def unsynced() -> Iterator[None]:
    """A turn to write and a transaction."""
    with turn_to_write():
        # SQLite's setting is one of the connection, and fixed within a transaction.
        is_outermost = connection.vendor == "sqlite" and not connection.in_atomic_block
        if is_outermost:
            execute("PRAGMA synchronous = NORMAL")
        try:
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    execute("SELECT set_config('synchronous_commit', 'off', true)")
                yield
        finally:
            if is_outermost:
                execute("PRAGMA synchronous = FULL")


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
