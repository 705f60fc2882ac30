"""Store due changes of unused wallets, so that entries, statements and events do not wait for a check.

Refills follow their account to another time zone.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from django.db import transaction

from accounts.models import Account
from analytics.ledger.due import Failures, store_due
from analytics.wallets.book import Book
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.stored_books import lock_book, open_books, save_book
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write
from kit.values.calendar import add_months

WALLETS_PER_TRANSACTION = 50  # wallets of a transaction


def settle_wallets(account_id: str | None, until: datetime) -> tuple[int, Failures]:
    """Store what is due at a moment, of one account or of all. Returns how many wallets had some, and the failures."""
    due = Wallet.objects.filter(next_change_at__lte=until)
    if account_id is not None:
        due = due.filter(account=account_id)
    return store_due(due.order_by("pk"), partial(settle_together, until), WALLETS_PER_TRANSACTION)


def settle_together(until: datetime, wallets: Sequence[Wallet]) -> int:
    with turn_to_write(), transaction.atomic():
        for wallet in wallets:
            save_book(lock_book(wallet), until)
    return len(wallets)


MOVED = ["refill_anchor", "refill_zone", "next_refill_at", "next_change_at"]
ROWS_AT_ONCE = 500  # rows of a statement


def follow_zone(account: Account, **signal: object) -> None:
    """Move refills that are due later to the account's new time zone, at the same time by its clock."""
    now = stored_now()
    refilled = Wallet.objects.filter(account=account, next_refill_at__isnull=False)
    for wallet in refilled.filter(next_change_at__lte=now).order_by("pk"):
        save_book(lock_book(wallet), now)
    books = open_books(refilled.select_for_update().order_by("pk"))
    for book in books:
        move_refill(book, account, now)
    Wallet.objects.bulk_update([book.wallet for book in books], MOVED, batch_size=ROWS_AT_ONCE)
    extended = [grant for book in books for grant in book.touched.values()]
    Grant.objects.bulk_update(extended, ["expires_at"], batch_size=ROWS_AT_ONCE)


def move_refill(book: Book, account: Account, now: datetime) -> None:
    """Give anchor and next refill the same wall-clock time in the account's zone, but no refill before `now`."""
    wallet, former = book.wallet, book.wallet.zone
    if wallet.refill_anchor is None or wallet.next_refill_at is None:
        return
    wallet.refill_anchor = add_months(wallet.refill_anchor, 0, former, account.zone)
    wallet.next_refill_at = max(add_months(wallet.next_refill_at, 0, former, account.zone), now)
    wallet.refill_zone = None if account.time_zone == "UTC" else account.time_zone
    book.extend_refill()
    wallet.next_change_at = book.next_change()
