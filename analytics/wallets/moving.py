"""Moving a wallet to another requester, or all of its credit to the wallet that the other has in that unit."""

from datetime import datetime
from decimal import Decimal

from accounts.auditing import audit
from analytics.wallets.models import Grant, Wallet, WalletEntry, WalletEntryType, WalletMove
from analytics.wallets.rows import keep, lock_book
from kit.http.errors import ValidationFailed
from kit.storage.reading import stored_now
from kit.values.amounts import LARGEST, plain

REFILL = (
    *("refill_amount", "refill_every", "refill_anchor", "refill_zone", "refills", "next_refill_at"),
    *("rollover_min", "rollover_max"),
)


def current_wallet(wallet: Wallet) -> Wallet:
    """Return the wallet that a merge has moved this one's credit to, or this one."""
    target = wallet.requester.merged_into_id
    if wallet.license_id is not None or target is None:
        return wallet
    return Wallet.objects.filter(requester=target, license=None, unit=wallet.unit).first() or wallet


def move_wallet(wallet_id: str, source: int, target: int, now: datetime) -> None:
    """Give the wallet to the target. Call it in a transaction that holds the account.

    Of two wallets of requesters in one unit, the target's gets the grants and the balance of the source's, which stays
    with nothing: its entries are kept. Floor and thresholds of the target's count, and its refill if it has one.
    Raises ValidationFailed if the balance would exceed what a wallet holds.
    """
    now = min(now, stored_now())  # nothing expires for good by a clock that is ahead
    wallet = Wallet.objects.get(pk=wallet_id)
    of_target = Wallet.objects.filter(requester_id=target, license=None, unit=wallet.unit).first()
    if wallet.license_id is not None or of_target is None:
        book = lock_book(wallet)
        before = book.wallet.audited()
        book.wallet.requester_id = target
        book.wallet.updated = now
        book.wallet.save(update_fields=["requester", "updated"])
        WalletMove.objects.create(
            account_id=wallet.account_id, wallet=book.wallet, source_id=source, target_id=target, created=now
        )
        audit.record("wallet.updated", Wallet.objects.select_related("requester").get(pk=wallet_id), before)
        return
    first, second = sorted((wallet.pk, of_target.pk))
    books = {one: lock_book(Wallet(pk=one)) for one in (first, second)}
    giving, taking = books[wallet.pk], books[of_target.pk]
    for book in books.values():
        book.roll_to(now)
        book.close_spent(now)
    if sum(book.wallet.balance for book in books.values()) > LARGEST:
        raise ValidationFailed(
            f"A wallet holds at most {plain(Decimal(LARGEST))} {wallet.unit}, which those of both exceed.",
            param="into",
        )
    terms = {one: book.wallet.audited() for one, book in books.items()}
    if taking.wallet.refill_amount is None and giving.wallet.refill_amount is not None:
        taking.wallet.updated = now
        for name in REFILL:
            setattr(taking.wallet, name, getattr(giving.wallet, name))
    giving.wallet.refill_amount = giving.wallet.refill_every = None
    giving.wallet.refill_anchor = giving.wallet.refill_zone = giving.wallet.next_refill_at = None
    for book in books.values():
        keep(book, now)
    carried = giving.wallet.balance
    grants = [grant for grant in giving.grants if grant.ended_at is None]
    Grant.objects.filter(pk__in=[grant.pk for grant in grants]).update(wallet=taking.wallet)
    giving.wallet.balance -= carried
    if carried:
        WalletEntry.objects.bulk_create(
            WalletEntry(
                account_id=book.wallet.account_id,
                wallet=book.wallet,
                type=WalletEntryType.CARRY,
                amount=amount,
                created=now,
            )
            for book, amount in ((giving, -carried), (taking, carried))
        )
    giving.grants = []
    giving.wallet.updated = now
    giving.wallet.next_change_at = None
    giving.wallet.save()
    for book in (giving, taking):
        audit.record("wallet.updated", book.wallet, terms[book.wallet.pk])
    taking = lock_book(taking.wallet)  # with the grants that it got
    taking.carry(carried, now)
    keep(taking, now)
