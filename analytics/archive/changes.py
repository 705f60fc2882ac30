"""Changes to recorded decisions, which the archive has to follow: imports of the past, and erasures."""

from collections.abc import Iterable
from datetime import date

from django.core.exceptions import ValidationError

from analytics.archive.horizon import stored_horizon
from analytics.archive.models import ArchivedMonth
from kit.storage.postgresql.advisory_locks import lock_name

LOCK = 7_202_611_046  # an arbitrary advisory lock number


def note_change(account_id: str, days: Iterable[date]) -> None:
    """Mark the months of these days to be copied again. Call it in the transaction of the change.

    Raises ValidationError if only the archive has one of these months.
    """
    months = {day.replace(day=1) for day in days}
    horizon = lock_out_copies()
    if horizon is not None and any(month < horizon for month in months):
        raise ValidationError(f"Only the archive has decisions before {horizon}. None can be added there.")
    ArchivedMonth.objects.filter(account_id=account_id, month__in=months).update(is_current=False)


def note_erasure(account_id: str, months: Iterable[date]) -> None:
    """Mark months with decisions of an erased customer. Call it after the last change to them."""
    lock_out_copies()
    ArchivedMonth.objects.filter(account_id=account_id, month__in=months).update(is_current=False)


def lock_out_copies() -> date | None:
    """Let no copy begin and no horizon move until the commit. Returns the horizon.

    This makes it impossible to miss a copy that begins at the same time: either the copy begins after the change is
    committed, or its row is seen here.
    """
    lock_name(LOCK, shared=True)
    horizon = stored_horizon()
    return None if horizon is None else horizon.date()


def wait_for_changes() -> None:
    """Wait until every change that has called `note_change` is committed, and hold off others until the commit."""
    lock_name(LOCK)
