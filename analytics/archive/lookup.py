"""Single decisions that only the archive has.

What reads the archive is imported when it is needed, because its packages are an optional extra.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Sum

from analytics.archive.horizon import horizon_cache, stored_horizon
from analytics.archive.models import ArchivedMonth
from kit.http.errors import ServiceUnavailable

if TYPE_CHECKING:
    from analytics.archive.reading import ArchivedRow

logger = logging.getLogger(__name__)


@contextmanager
def available_archive() -> Iterator[None]:
    """Raises ServiceUnavailable if the archive's packages or files are missing."""
    try:
        yield
    except (ModuleNotFoundError, OSError) as error:
        logger.exception("The archive cannot be read")
        raise ServiceUnavailable("The service cannot read its archive of old decisions.") from error


def find_archived_decision(account_id: str, id: str) -> "ArchivedRow | None":
    """Return the decision if only the archive has it. Raises ServiceUnavailable."""
    horizon = horizon_cache.current()
    if horizon is None:
        return None
    with available_archive():
        from analytics.archive.reading import find_decision  # noqa: PLC0415

        return find_decision(account_id, id, horizon)


def last_archived_at(account_id: str, requester: int, begin: datetime, end: datetime) -> datetime | None:
    """Return the time of the last decision about a requester (by number) from `begin` up to `end` (excluded).

    Raises ServiceUnavailable.
    """
    with available_archive():
        from analytics.archive.reading import ArchiveQuery, Comparison  # noqa: PLC0415

        query = ArchiveQuery(account_id, begin, end, (Comparison("requester", "eq", requester),))
        return next((position.value for position in query.positions()), None)


def count_archived(account_id: str) -> int:
    """Return how many of the account's decisions only the archive has."""
    horizon = stored_horizon()
    if horizon is None:
        return 0
    months = ArchivedMonth.objects.filter(account_id=account_id, month__lt=horizon.date())
    return months.aggregate(number=Sum("rows"))["number"] or 0
