"""Entries of licences in the ledger: their prices, and what changes of terms do to them."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from analytics.ledger.entries import add_entries
from analytics.ledger.refunds import check_prices
from analytics.models import EntryType, LedgerEntry
from kit.http.errors import ValidationFailed
from licensing.licenses.models import License


def build_ledger_entry(license_: License) -> LedgerEntry | None:
    """Build the ledger entry of a licence; None if it has no price."""
    price = license_.price_amount
    if not price:
        return None
    return LedgerEntry(
        account_id=license_.account_id,
        type=EntryType.LICENSE,
        amount=price,
        currency=license_.price_currency or "",
        occurred_at=license_.starts_at,
        license_id=license_.pk,
        license_type=license_.license_type,
        requester_id=license_.requester_id,
    )


def charged_terms(entry: LedgerEntry | None) -> tuple[Decimal, str, datetime, str | None] | None:
    return None if entry is None else (entry.amount, entry.currency, entry.occurred_at, entry.license_type)


def keep_books(changes: Iterable[tuple[LedgerEntry | None, LedgerEntry | None]], fees: Iterable[LedgerEntry]) -> None:
    """Reverse changed ledger entries of licences, and add the new ones and the fees that are due.

    Raises ValidationFailed, for example if a price would fall below its refunds.
    """
    entries = []
    due = list(fees)
    for booked, to_be in changes:
        if charged_terms(booked) == charged_terms(to_be):
            continue
        if booked is not None:
            booked.amount = -booked.amount
            booked.description = "Taken back, as the licence was changed."
        entries += [entry for entry in (booked, to_be) if entry is not None]
    if entries:
        check_prices(entries)
    if entries or due:
        try:
            add_entries([*entries, *due])
        except ValidationFailed as error:
            raise ValidationFailed(error.message, param="price.amount" if entries else "fee.amount") from None
