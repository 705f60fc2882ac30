"""Adding entries to the ledger and its daily totals in one transaction.

`usage` entries are written with their decisions (analytics.recording.recorder), all others by `add_entries`. On
PostgreSQL both append rows that are rolled up later (analytics.models.pending); SQLite updates the totals at once.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, connection, transaction

from analytics.models import LedgerEntry, RecentRevenue
from analytics.recording.recorder_sqlite import add_revenue
from analytics.rollups.upserts import REVENUE_KEYS, Parameter, adapt, prepare
from kit.http.errors import ValidationFailed
from kit.storage.by_database import by_database
from kit.values.amounts import to_millionths


def add_entries(entries: Sequence[LedgerEntry]) -> None:
    """Store entries of any accounts and days, and add them to the daily totals.

    Raises ValidationFailed if a day's total would exceed what the database stores exactly.
    """
    with transaction.atomic():
        LedgerEntry.objects.bulk_create(entries, batch_size=1000)
        add_to_totals = by_database(postgresql=add_pending_rows, sqlite=add_daily_totals)
        add_to_totals(entries)


def add_pending_rows(entries: Sequence[LedgerEntry]) -> None:
    RecentRevenue.objects.bulk_create(pending_rows(entries), batch_size=1000)


def add_daily_totals(entries: Sequence[LedgerEntry]) -> None:
    try:
        with connection.cursor() as cursor:
            for name in REVENUE_KEYS:
                add_revenue(cursor, name, daily_totals(name, entries))
    except (IntegrityError, OverflowError):
        raise ValidationFailed("The totals of that day cannot hold this amount.", param="amount") from None


def pending_rows(entries: Sequence[LedgerEntry]) -> list[RecentRevenue]:
    """Return the rows that a roll-up adds to the totals: one for each account, hour and currency."""
    groups: defaultdict[tuple[str, datetime, str], list[LedgerEntry]] = defaultdict(list)
    for entry in entries:
        hour = entry.occurred_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        groups[entry.account_id, hour, entry.currency].append(entry)
    return [
        RecentRevenue(
            account_id=account_id,
            hour=hour,
            currency=currency,
            amounts=[to_millionths(entry.amount) for entry in group],
            license_types=[entry.license_type or "" for entry in group],
            contents=[entry.content_id for entry in group],
            requesters=[entry.requester_id for entry in group],
        )
        for (account_id, hour, currency), group in groups.items()
    ]


def daily_totals(name: str, entries: Sequence[LedgerEntry]) -> list[tuple[Parameter, ...]]:
    """Return account, day, currency, the rollup's key, and the sum in millionths."""
    sums: Counter[tuple[Parameter, ...]] = Counter()
    for entry in entries:
        key = entry.license_type or "" if name == "tier" else getattr(entry, f"{name}_id")
        if key is not None:
            account = prepare(LedgerEntry, "account_id", entry.account_id)
            day = adapt(entry.occurred_at.astimezone(UTC).date())
            stored_key = key if name == "tier" else prepare(LedgerEntry, f"{name}_id", key)
            sums[account, day, entry.currency, stored_key] += to_millionths(entry.amount)
    return [(*key, amount) for key, amount in sums.items()]
