"""The tables whose triggers refuse changes and deletes.

Tests disable the triggers, to set times or empty tables, and so does `flush` after anybody's tests of transactions.
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from django.db import connection

from kit.storage.by_database import by_database

TABLES = (
    "accounts_auditentry",
    "analytics_entry",
    "analytics_closedstatement",
    "analytics_closedline",
    "analytics_walletentry",
)


def triggers(table: str) -> dict[str, str]:
    """Return the table's SQLite triggers: CREATE statements by name."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        return dict(cursor.fetchall())


def unlocking(tables: Collection[str] = TABLES) -> tuple[list[str], list[str]]:
    """Return the statements that disable the triggers of those tables that have any, and those that restore them."""
    unlock = by_database(postgresql=unlocking_on_postgresql, sqlite=unlocking_on_sqlite)
    return unlock([table for table in TABLES if table in tables])


def unlocking_on_postgresql(tables: Sequence[str]) -> tuple[list[str], list[str]]:
    disable = [f"ALTER TABLE {table} DISABLE TRIGGER USER" for table in tables]
    enable = [f"ALTER TABLE {table} ENABLE TRIGGER USER" for table in tables]
    return disable, enable


def unlocking_on_sqlite(tables: Sequence[str]) -> tuple[list[str], list[str]]:
    definitions = {name: definition for table in tables for name, definition in triggers(table).items()}
    return [f"DROP TRIGGER {name}" for name in definitions], list(definitions.values())


@contextmanager
def unlocked() -> Iterator[None]:
    """Allow updates and deletes within the block."""
    unlock, lock = unlocking()
    with connection.cursor() as cursor:
        for statement in unlock:
            cursor.execute(statement)
        yield
        for statement in lock:
            cursor.execute(statement)
