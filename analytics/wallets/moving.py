"""Moving a wallet to another requester, or all of its credit to the wallet that the other has in that unit."""

from datetime import datetime
from decimal import Decimal

from accounts.auditing import audit
from analytics.wallets.book import Book
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.stored_books import lock_book, save_book
from kit.http.errors import ValidationFailed
from kit.storage.reading import stored_now
from kit.values.decimals import LARGEST, plain

REFILL = (
    "refill_amount",
    "refill_every",
    "refill_anchor",
    "refill_zone",
    "refills",
    "next_refill_at",
    "rollover_min",
    "rollover_max",
)


def current_wallet(wallet: Wallet) -> Wallet:
    """Return the wallet that a merge has moved this one's credit to, or this one."""
    target = wallet.requester.merged_into_id
    if wallet.license_id is not None or target is None:
        return wallet
    return Wallet.objects.filter(requester=target, license=None, unit=wallet.unit).first() or wallet


def move_wallet(wallet_id: str, target: int, now: datetime) -> tuple[str, Decimal]:
    """Give the wallet to the target; return its unit and the credit that moved, with grants that start later.

    Call it in a transaction that holds the account.

    If the target has a wallet in the unit, that one gets the grants and the balance. It keeps its floor and its
    thresholds, and its refill if it has one. The emptied wallet keeps its entries.
    Raises ValidationFailed if the balance would exceed what a wallet holds.
    """
    now = min(now, stored_now())  # nothing expires for good by a clock that is ahead
    wallet = Wallet.objects.get(pk=wallet_id)
    target_wallet = Wallet.objects.filter(requester_id=target, license=None, unit=wallet.unit).first()
    if wallet.license_id is not None or target_wallet is None:
        book = lock_book(wallet)
        before = book.wallet.audited()
        book.roll_to(now)
        moved = credit_in(book)
        book.move_to(target, now)
        book.wallet.updated = now
        save_book(book, now)
        audit.record("wallet.updated", Wallet.objects.select_related("requester").get(pk=wallet_id), before)
        return wallet.unit, moved
    books = {pk: lock_book(Wallet(pk=pk)) for pk in sorted((wallet.pk, target_wallet.pk))}
    giving, taking = books[wallet.pk], books[target_wallet.pk]
    for book in books.values():
        book.roll_to(now)
        book.close_spent(now)
    if sum(book.wallet.balance for book in books.values()) > LARGEST:
        raise ValidationFailed(
            f"A wallet holds at most {plain(Decimal(LARGEST))} {wallet.unit}, which those of both exceed.",
            param="into",
        )
    terms = {pk: book.wallet.audited() for pk, book in books.items()}
    if taking.wallet.refill_amount is None and giving.wallet.refill_amount is not None:
        taking.wallet.updated = now
        for name in REFILL:
            setattr(taking.wallet, name, getattr(giving.wallet, name))
    giving.wallet.end_refills()
    for book in books.values():
        save_book(book, now)
    moved = credit_in(giving)
    open_ids = [grant.pk for grant in giving.grants if grant.ended_at is None]
    Grant.objects.filter(pk__in=open_ids).update(wallet=taking.wallet)
    carried = giving.hand_over(now)
    giving.grants = []
    giving.wallet.updated = now
    save_book(giving, now)
    for book in (giving, taking):
        audit.record("wallet.updated", book.wallet, terms[book.wallet.pk])
    taking = lock_book(taking.wallet)  # with the grants that it got
    taking.carry(carried, now)
    save_book(taking, now)
    return wallet.unit, moved


def credit_in(book: Book) -> Decimal:
    """Return what a merge moves of the balance, and the grants that start later."""
    scheduled = [grant.amount for grant in book.grants if grant.ended_at is None and not grant.started]
    return book.balance_to_move + sum(scheduled, Decimal(0))
