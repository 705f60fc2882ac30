"""Transactions that only read."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction


@contextmanager
def reading() -> Iterator[None]:
    """A transaction that sees one moment and writes nothing. On SQLite, whose others begin by taking the one lock for
    writing, it keeps no writer waiting and waits for none."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "sqlite" or connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    connection.ensure_connection()
    sqlite: Any = connection  # its stubs have no transaction_mode
    former, sqlite.transaction_mode = sqlite.transaction_mode, "DEFERRED"
    try:
        with transaction.atomic():
            yield
    finally:
        sqlite.transaction_mode = former
