"""What tests need of the audit log: to read it, and to lift the triggers that keep it as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from accounts.models import AuditEntry

TABLE = "accounts_auditentry"


def entries(**filters: Any) -> list[AuditEntry]:
    """Oldest first."""
    return list(AuditEntry.objects.filter(**filters).order_by("created", "id"))


def triggers() -> dict[str, str]:
    """Of SQLite: their names, and how they are made."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [TABLE])
        return dict(cursor.fetchall())


def unlocking() -> tuple[list[str], list[str]]:
    """The statements that lift the triggers, and those that put them back."""
    if connection.vendor == "postgresql":
        return [f"ALTER TABLE {TABLE} DISABLE TRIGGER USER"], [f"ALTER TABLE {TABLE} ENABLE TRIGGER USER"]
    known = triggers()
    return [f"DROP TRIGGER {name}" for name in known], list(known.values())


@contextmanager
def unlocked() -> Iterator[None]:
    """Inside, entries can be changed: a test gives them times that no clock gave."""
    unlock, lock = unlocking()
    with connection.cursor() as cursor:
        for statement in unlock:
            cursor.execute(statement)
        yield
        for statement in lock:
            cursor.execute(statement)
