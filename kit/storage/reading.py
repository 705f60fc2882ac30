"""Read-only transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction

from kit.storage.replica import reading_connection


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
