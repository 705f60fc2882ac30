"""What tests need of the ledger: entries, and to lift the triggers that keep it as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from accounts.models import Account
from analytics.ledger import add_entries
from analytics.models import LedgerEntry
from licensing.models import Requester

TABLE = "analytics_ledgerentry"
MOMENT = datetime(2026, 3, 4, 12, tzinfo=UTC)


def entry(account: Account, amount: str = "1", **fields: Any) -> LedgerEntry:
    """One that is not yet added."""
    given = {"type": "adjustment", "currency": "USD", "occurred_at": MOMENT, **fields}
    return LedgerEntry(account=account, amount=Decimal(amount), **given)


def add(account: Account, amount: str = "1", **fields: Any) -> LedgerEntry:
    made = entry(account, amount, **fields)
    add_entries([made])
    return made


def requester(account: Account, name: str = "org") -> Requester:
    return Requester.objects.get_or_create(account=account, requester_id=name)[0]


def unlocking() -> tuple[list[str], list[str]]:
    """The statements that lift the triggers, and those that put them back."""
    if connection.vendor == "postgresql":
        return [f"ALTER TABLE {TABLE} DISABLE TRIGGER USER"], [f"ALTER TABLE {TABLE} ENABLE TRIGGER USER"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [TABLE])
        known = dict(cursor.fetchall())
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
