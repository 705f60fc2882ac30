"""Spending from wallets, under the locks of their rows, in the transaction that records the decisions.

Whether a decision's spends are all paid or none is decided by licensing.access.charging.paying, and by
analytics.recording.spending_sql where a statement records the decisions without a transaction.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import QuerySet

from analytics.recording.spending_sql import Spend
from analytics.wallets.events import next_notice, record_news
from analytics.wallets.models import Wallet, WalletEntry, WalletEntryType
from analytics.wallets.stored_books import open_books, save_book
from kit.storage import clocks
from kit.values import ids
from kit.values.decimals import from_millionths, plain, to_millionths
from kit.values.timestamps import render_timestamp


class WalletBooks:
    """The books of the wallets that checks spend from, as they are at a moment."""

    def __init__(self, wallets: Iterable[Wallet], now: datetime) -> None:
        self.now = now
        self.books = {ids.id_to_hex("wal", book.wallet.pk): book for book in open_books(wallets)}
        for book in self.books.values():
            book.roll_to(now)

    @classmethod
    def lock(cls, keys: Iterable[str], now: datetime) -> "WalletBooks":
        """Lock the rows, in the order of their ids, until the transaction ends.

        What is due is applied as of PostgreSQL's time if this process's clock is too far ahead of it.
        """
        locked = find_wallets(keys).select_for_update(of=("self",))
        if connection.vendor != "postgresql":
            return cls(locked, now)
        rows = list(locked.annotate(stored_now=clocks.ClockTimestamp()))
        stored_now = min((row.stored_now for row in rows), default=now)
        return cls(rows, stored_now if now - stored_now > clocks.MOST_DIFFERENCE else now)

    @classmethod
    def read(cls, keys: Iterable[str], now: datetime) -> "WalletBooks":
        """The same without a lock, for a rehearsal."""
        return cls(find_wallets(keys), now)

    def first_uncovered(self, spends: Sequence[Spend]) -> Spend | None:
        """Return the first of the spends that its wallet does not cover."""
        return next((spend for spend in spends if not self.covers(spend)), None)

    def covers(self, spend: Spend) -> bool:
        book = self.books.get(spend.wallet)
        return book is not None and book.wallet.covers(from_millionths(spend.amount))

    def pay(self, spends: Sequence[Spend], decision_id: str) -> None:
        for spend in spends:
            book, amount = self.books[spend.wallet], from_millionths(spend.amount)
            book.spend(amount, self.now)
            book.note(WalletEntryType.SPEND, -amount, self.now, decision_id=decision_id)

    def save(self) -> None:
        for book in self.books.values():
            if book.touched:
                save_book(book, self.now)
            elif book.entries or book.news:
                WalletEntry.objects.bulk_create(book.entries)
                book.wallet.notice_at = next_notice(book.wallet)
                book.wallet.save(update_fields=["balance", "notice_at", "exhausted_at"])
                record_news(book.news)

    def exhaust(self, spend: Spend) -> None:
        """Note that a check is denied because of this wallet."""
        book = self.books.get(spend.wallet)
        if book is not None:
            book.exhaust(book.wallet.balance, self.now)

    # --- What a decision shows ---------------------------------------------------------------------------------------

    def describe_remaining(self, spend: Spend) -> dict[str, object]:
        """Return what a covered spend leaves in its wallet, as a decision records it: amounts are texts."""
        wallet = self.books[spend.wallet].wallet
        left = max(wallet.available - from_millionths(spend.amount), Decimal(0))
        return {"walletId": wallet.pk, "unit": wallet.unit, "remaining": plain(left)}

    def available_credit(self, spend: Spend) -> int:
        """Return what can be spent from its wallet, in millionths."""
        return to_millionths(self.books[spend.wallet].wallet.available)

    def describe_shortfall(self, spend: Spend) -> dict[str, object]:
        """Return what an uncovered spend requires, and what its wallet has."""
        wallet = self.books[spend.wallet].wallet
        return {
            "walletId": wallet.pk,
            "unit": wallet.unit,
            "required": plain(from_millionths(spend.amount)),
            "available": plain(wallet.available),
            "nextRefillAt": render_timestamp(wallet.next_refill_at),
        }


def find_wallets(keys: Iterable[str]) -> QuerySet[Wallet]:
    return Wallet.objects.filter(pk__in=[ids.encode("wal", bytes.fromhex(key)) for key in set(keys)]).order_by("pk")
