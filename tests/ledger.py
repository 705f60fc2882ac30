"""Ledger helpers for tests."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from accounts.models import Account
from analytics.ledger.entries import add_entries
from analytics.models import LedgerEntry
from licensing.requesters.models import Requester

MOMENT = datetime(2026, 3, 4, 12, tzinfo=UTC)


def entry(account: Account, amount: str = "1", **fields: Any) -> LedgerEntry:
    """Return an unsaved ledger entry."""
    given = {"type": "adjustment", "currency": "USD", "occurred_at": MOMENT, **fields}
    return LedgerEntry(account=account, amount=Decimal(amount), **given)


def add(account: Account, amount: str = "1", **fields: Any) -> LedgerEntry:
    made = entry(account, amount, **fields)
    add_entries([made])
    return made


def requester(account: Account, name: str = "org") -> Requester:
    return Requester.objects.get_or_create(account=account, requester_id=name)[0]
