"""Transactions whose commit does not wait for the disk.

They are atomic and visible at once, but a crash of the database may undo the last of them; use them only for work that
is then repeated.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from kit.storage.sqlite_turns import turn_to_write


@contextmanager
def unsynced() -> Iterator[None]:
    """Hold a write turn and a transaction."""
    with turn_to_write():
        # On SQLite it is a setting of the connection that cannot change within a transaction.
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
