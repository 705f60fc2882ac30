"""Rows of wallets: locking, storing and reading them as they are at a moment."""

from collections import defaultdict
from collections.abc import Iterable
from copy import copy
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from analytics.wallets.book import Book
from analytics.wallets.events import next_notice, record_news
from analytics.wallets.models import Grant, Wallet, WalletEntry
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write


def settle(wallet: Wallet) -> None:
    """Store the ends and refills that are due, so that the wallet's entries list them."""
    if wallet.next_change_at is not None and wallet.next_change_at <= timezone.now():
        with turn_to_write(), transaction.atomic():
            save_book(lock_book(wallet), stored_now())


def lock_book(wallet: Wallet) -> Book:
    """The wallet's row, locked until the transaction ends, with its open grants."""
    # The requester is read later: a merge that held the lock may have moved the wallet, or merged its requester. A
    # joined row would be the one from before the wait.
    row = Wallet.objects.select_for_update().get(pk=wallet.pk)
    return Book(row, open_grants([row]))


def open_grants(wallets: Iterable[Wallet]) -> list[Grant]:
    grants = Grant.objects.filter(wallet__in=[wallet.pk for wallet in wallets], ended_at__isnull=True)
    return list(grants.order_by("created", "pk"))


def open_books(wallets: Iterable[Wallet]) -> list[Book]:
    """Return wallets with their open grants. One query at most."""
    rows = list(wallets)
    grants: defaultdict[str, list[Grant]] = defaultdict(list)
    for grant in open_grants(rows):
        grants[grant.wallet_id].append(grant)
    return [Book(wallet, grants[wallet.pk]) for wallet in rows]


def save_book(book: Book, now: datetime) -> None:
    """Store the changes of a locked wallet."""
    book.roll_to(now)
    book.close_spent(now)
    Grant.objects.bulk_create(
        book.touched.values(),
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["remaining", "started", "expires_at", "ended_at", "voided_at"],
    )
    WalletEntry.objects.bulk_create(book.entries, batch_size=500)
    book.wallet.notice_at = next_notice(book.wallet)
    book.wallet.save()
    record_news(book.news)
    book.entries, book.touched, book.news = [], {}, []


def as_of(wallets: Iterable[Wallet], now: datetime) -> list[Book]:
    """Return wallets as of a time, for reading: due changes are not stored. One query at most."""
    rows = list(wallets)
    due = [wallet for wallet in rows if wallet.next_change_at is not None and wallet.next_change_at <= now]
    due_books = {book.wallet.pk: book for book in open_books(due)}
    for book in due_books.values():
        book.roll_to(now)
    return [due_books.get(wallet.pk) or Book(wallet, []) for wallet in rows]


def grants_as_of(wallet: Wallet, grants: Iterable[Grant], now: datetime) -> list[Grant]:
    """Return a wallet's grants as of a time, less what was spent of them, for reading. One query."""
    rows = {grant.pk: grant for grant in grants}
    book = Book(copy(wallet), [rows.get(grant.pk, grant) for grant in open_grants([wallet])])
    book.roll_to(now)
    book.close_spent(now)
    return list(rows.values())
