"""Disable the append-only triggers in tests, to set arbitrary times or empty tables."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

TABLES = (
    "accounts_auditentry",
    "analytics_ledgerentry",
    "analytics_closedstatement",
    "analytics_closedline",
    "analytics_walletentry",
)


def triggers(table: str) -> dict[str, str]:
    """Of SQLite: their names, and how they are made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        return dict(cursor.fetchall())


def unlocking() -> tuple[list[str], list[str]]:
    """The statements that lift the triggers, and those that put them back."""
    if connection.vendor == "postgresql":
        alter = [f"ALTER TABLE {table} {{}} TRIGGER USER" for table in TABLES]
        return [one.format("DISABLE") for one in alter], [one.format("ENABLE") for one in alter]
    known = {name: made for table in TABLES for name, made in triggers(table).items()}
    return [f"DROP TRIGGER {name}" for name in known], list(known.values())


@contextmanager
def unlocked() -> Iterator[None]:
    """Inside, rows can be changed."""
    unlock, lock = unlocking()
    with connection.cursor() as cursor:
        for statement in unlock:
            cursor.execute(statement)
        yield
        for statement in lock:
            cursor.execute(statement)
