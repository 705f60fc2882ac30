"""Changes to recorded decisions, which the archive has to follow: imports of the past, and erasures."""

from collections.abc import Iterable
from datetime import date

from django.db import connection

from analytics.archive.models import ArchivedMonth

LOCK = 7_202_611_046  # an arbitrary advisory lock number


def note_change(account_id: str, days: Iterable[date]) -> None:
    """Mark the months of these days to be copied again. Call it in the transaction of the change.

    The lock makes it impossible to miss a copy that begins at the same time: either the copy begins after the change
    is committed, or its row is seen here.
    """
    hold_lock("pg_advisory_xact_lock_shared")
    months = {day.replace(day=1) for day in days}
    ArchivedMonth.objects.filter(account_id=account_id, month__in=months).update(is_current=False)


def wait_for_changes() -> None:
    """Wait until every change that has called `note_change` is committed, and hold off others until the commit."""
    hold_lock("pg_advisory_xact_lock")


def hold_lock(function: str) -> None:
    if connection.vendor == "postgresql":  # SQLite has one writer anyway
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {function}(%s)", [LOCK])
