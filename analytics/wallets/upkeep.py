"""Store due changes of unused wallets, so that entries, statements and events do not wait for a check."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from analytics.wallets.models import Wallet
from analytics.wallets.rows import keep, lock_book
from kit.storage.sqlite_turns import turn_to_write

AT_ONCE = 50  # wallets of a transaction


def settle_due(moment: datetime | None = None) -> int:
    """Store the ends and refills that are due at a moment (now, unless given). Returns how many wallets had some.

    Several processes may run it at once.
    """
    until = moment or timezone.now()
    due = Wallet.objects.filter(next_change_at__lte=until).order_by("pk")
    settled = 0
    while some := [*due[:AT_ONCE]]:
        with turn_to_write(), transaction.atomic():
            for wallet in some:
                keep(lock_book(wallet), until)
        settled += len(some)
    return settled
