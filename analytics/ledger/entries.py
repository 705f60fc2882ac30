"""Adding entries to the ledger and its daily totals in one transaction.

`usage` entries are written with their decisions (analytics.recording.recorder), all others by `add_entries`. On
PostgreSQL both append rows that are rolled up later (analytics.models.pending); SQLite updates the totals at once.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import IntegrityError, connection, transaction

from analytics.models import LedgerEntry, RecentRevenue
from analytics.recording.recorder_sqlite import add_to_revenue
from kit.http.errors import ValidationFailed
from kit.storage.by_database import by_database
from kit.values.decimals import to_millionths


def add_entries(entries: Sequence[LedgerEntry]) -> None:
    """Store entries of any accounts and days, and add them to the daily totals.

    Raises ValidationFailed if a day's total would exceed what the database stores exactly.
    """
    with transaction.atomic():
        add = by_database(postgresql=add_to_pending_rows, sqlite=add_to_daily_totals)
        add(entries)


def add_to_pending_rows(entries: Sequence[LedgerEntry]) -> None:
    LedgerEntry.objects.bulk_create(entries, batch_size=1000)
    RecentRevenue.objects.bulk_create(pending_rows(entries), batch_size=1000)


def add_to_daily_totals(entries: Sequence[LedgerEntry]) -> None:
    with connection.cursor() as cursor:
        [last] = cursor.execute("SELECT coalesce(max(rowid), 0) FROM analytics_entry").fetchone()
        LedgerEntry.objects.bulk_create(entries, batch_size=1000)
        try:
            add_to_revenue(cursor, last)
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
