"""Ledger helpers for tests."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from accounts.models import Account
from analytics.ledger.entries import add_entries
from analytics.models import LedgerEntry
from kit.values.ids import decode, encode
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


def statement_id(account_id: str, requester: int | None, month: date, currency: str) -> str:
    """Return a statement's id, given the requester's number (analytics.statements.sql_views)."""
    account = decode("acc", account_id) or b""
    holder = account[8:] if requester is None else requester.to_bytes(8)
    return encode("stm", (month.year * 12 + month.month - 1).to_bytes(2) + currency.encode().ljust(6, b"\0") + holder)
