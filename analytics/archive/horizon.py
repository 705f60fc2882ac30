"""The moment before which only the archive has the decisions.

`manage.py archive_events --drop` moves it first, and removes the decisions from the database a while later. So a
process may remember it, and what was being read at that moment finds everything where it looked for it.
"""

from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS
from msgspec import Struct

from analytics.archive.models import ArchiveHorizon

CACHE_SECONDS = 10.0  # seconds
T = TypeVar("T")


def stored_horizon() -> datetime | None:
    """Return the horizon from the primary; None if the database has all decisions that were not purged."""
    return ArchiveHorizon.objects.using(DEFAULT_DB_ALIAS).values_list("begin", flat=True).first()


class HorizonCache(Struct):
    """The horizon as this process knows it, without a query for each list."""

    begin: datetime | None = None
    valid_until: float = 0.0

    def current(self) -> datetime | None:
        if monotonic() >= self.valid_until:
            self.begin = stored_horizon()
            self.valid_until = monotonic() + CACHE_SECONDS
        return self.begin

    def clear(self) -> None:
        self.valid_until = 0.0


horizon_cache = HorizonCache()


def read_at_horizon(read: Callable[[datetime | None], T]) -> T:
    """Call `read` with the horizon. Repeat it if the horizon has moved: what was read may have been removed."""
    while True:
        horizon = horizon_cache.current()
        result = read(horizon)
        if horizon_cache.current() == horizon:
            return result
