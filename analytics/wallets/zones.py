"""Refills follow their account to another time zone."""

from accounts.models import Account
from analytics.wallets.models import Wallet
from analytics.wallets.rows import keep, lock_book
from kit.storage.reading import stored_now
from kit.values.calendar import add_months


def follow_zone(account: Account) -> None:
    """Move refills that are due later to the account's new time zone, at the same time by its clock."""
    now = stored_now()
    for wallet in Wallet.objects.filter(account=account, refill_every__isnull=False).order_by("pk"):
        book = lock_book(wallet)
        keep(book, now)
        row, former = book.wallet, book.wallet.zone
        if row.refill_anchor is None or row.next_refill_at is None:
            continue
        row.refill_anchor = add_months(row.refill_anchor, 0, former, account.zone)
        row.next_refill_at = max(add_months(row.next_refill_at, 0, former, account.zone), now)
        row.refill_zone = None if account.time_zone == "UTC" else account.time_zone
        book.extend_refill()
        keep(book, now)
