"""The tables whose triggers refuse changes and deletes. Tests disable the triggers, to set times or empty tables."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from django.db import connection

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
    locked = [table for table in TABLES if table in tables]
    if connection.vendor == "postgresql":
        alter = [f"ALTER TABLE {table} {{}} TRIGGER USER" for table in locked]
        return [statement.format("DISABLE") for statement in alter], [
            statement.format("ENABLE") for statement in alter
        ]
    definitions = {name: definition for table in locked for name, definition in triggers(table).items()}
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
