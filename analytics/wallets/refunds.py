"""Refunds of accesses that a wallet paid: they return to the wallet as a grant."""

from decimal import Decimal

from django.db.models import Sum

from analytics.models.revenue import LedgerEntry
from analytics.wallets.models import GrantKind, WalletEntry, WalletEntryType
from analytics.wallets.moving import current_wallet
from analytics.wallets.rows import lock_book, save_book
from kit.storage.reading import stored_now


def returned_of(decision_id: str | None) -> Decimal:
    """Return how much of a decision's spend was returned and not voided since."""
    grants = WalletEntry.objects.filter(decision=decision_id, type=WalletEntryType.REFUND).values("grant")
    entries = WalletEntry.objects.filter(grant__in=grants, type__in=(WalletEntryType.REFUND, WalletEntryType.VOID))
    return entries.aggregate(sum=Sum("amount"))["sum"] or Decimal(0)


def return_to_wallet(refund: LedgerEntry) -> None:
    """Return a refund of a decision to the wallet that paid, if one did, up to what it paid. After a merge the wallet
    that got the credit gets the refund.

    Call it in the refund's transaction, while the account is held.
    """
    entries = WalletEntry.objects.filter(decision=refund.decision_id, wallet__unit=refund.currency)
    spend = entries.filter(type=WalletEntryType.SPEND).select_related("wallet__requester").first()
    if spend is None:
        return
    amount = min(-refund.amount, -spend.amount - returned_of(refund.decision_id))
    if amount <= 0:
        return
    now = stored_now()
    book = lock_book(current_wallet(spend.wallet))
    book.roll_to(now)
    grant = book.make_grant(amount, now, kind=GrantKind.REFUND)
    grant.save(force_insert=True)
    book.add(grant, WalletEntryType.REFUND)
    book.entries[-1].decision_id = refund.decision_id
    save_book(book, now)
