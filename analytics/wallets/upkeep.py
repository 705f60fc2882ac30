"""Store due changes of unused wallets, so that entries, statements and events do not wait for a check."""

from collections.abc import Sequence
from datetime import datetime

from django.db import DatabaseError, connection, transaction

from analytics.wallets.models import Wallet
from analytics.wallets.rows import keep, lock_book
from kit.storage.clocks import watch
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write

AT_ONCE = 50  # wallets of a transaction
FAILURES = (DatabaseError, OverflowError)  # of a single row, such as an amount that the database cannot hold
Failures = dict[str, Exception]  # the first one of each account


def settle_due(moment: datetime | None = None) -> int:
    """Store the ends and refills that are due at a moment (now, unless given). Returns how many wallets had some.

    Several processes may run it at once; one with a wrong clock stores nothing. If a wallet fails, stores those of the
    others and raises its error.
    """
    if not watch.agrees():
        return 0
    settled, failed = settle_possible(moment or stored_now())
    for error in failed.values():
        raise error
    return settled


def settle_possible(until: datetime) -> tuple[int, Failures]:
    """Store what is due, wallet by wallet where several fail together; return how many had some, and the failures."""
    due = Wallet.objects.filter(next_change_at__lte=until).order_by("pk")
    settled, failed, stuck = 0, Failures(), set[str]()
    while some := [*due.exclude(pk__in=stuck)[:AT_ONCE]]:
        for wallets in (some, *([one] for one in some)):
            try:
                settle_together(wallets, until)
            except FAILURES as error:
                check_usable(error)
                if len(wallets) == 1:
                    stuck.add(wallets[0].pk)
                    failed.setdefault(wallets[0].account_id, error)
            else:
                settled += len(wallets)
                if wallets is some:
                    break
    return settled, failed


def settle_together(wallets: Sequence[Wallet], until: datetime) -> None:
    with turn_to_write(), transaction.atomic():
        for wallet in wallets:
            keep(lock_book(wallet), until)


def check_usable(error: Exception) -> None:
    """Raise the error if the connection is lost: then nothing else can be done either."""
    if not connection.is_usable():
        raise error
