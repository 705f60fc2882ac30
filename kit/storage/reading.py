"""Read-only transactions."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction


@contextmanager
def read_snapshot() -> Iterator[None]:
    """Open a transaction with a consistent snapshot that does not write.

    On SQLite it takes no write lock, unlike Django's other transactions, so it neither blocks writers nor waits for
    them.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    connection.ensure_connection()
    sqlite: Any = connection  # the type stubs lack transaction_mode
    former, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        sqlite.transaction_mode = former
