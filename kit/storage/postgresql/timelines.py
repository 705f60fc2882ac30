"""Notice that another server was promoted (docs/guides/deployment.md, A standby).

A promotion begins a new timeline in the WAL. An asynchronous standby may lack the last commits, and then gives their
epochs, policy versions and requester numbers to others. So what a process has cached is of no use on a new timeline.
"""

import logging
from collections.abc import Callable

from django.db import OperationalError

# 0 on a standby, which has none of its own. Some services derived from PostgreSQL have no WAL: NotSupportedError.
TIMELINE = """CASE WHEN pg_is_in_recovery() THEN 0
  ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END"""
READ_TIMELINE = f"SELECT {TIMELINE}"

logger = logging.getLogger(__name__)
caches: list[Callable[[], None]] = []  # each empties one; called by any thread


class Promoted(OperationalError):
    """Another server is the primary: what was read from the former one may not hold. A retry reads it anew."""


def empty_on_promotion(empty: Callable[[], None]) -> None:
    """Call `empty` whenever a connection leads to another timeline than those before."""
    caches.append(empty)


class Timeline:
    """The timeline of a pool's connections; 0 while unknown."""

    def __init__(self) -> None:
        self.number = 0

    def note(self, number: int) -> int:
        """Note and return a new connection's timeline. If it is another one, empty this process's caches."""
        before, self.number = self.number, number or self.number
        if before not in (0, self.number):
            logger.warning("Another server was promoted (timeline %d after %d): caches are emptied.", number, before)
            for empty in caches:
                empty()
        return self.number


thread_timeline = Timeline()  # of Django's connections
