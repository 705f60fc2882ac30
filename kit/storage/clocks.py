"""Compare this process's clock with PostgreSQL's, which dates everything that is stored for ever.

A process whose clock differs by more than MOST_DIFFERENCE does no dated work, such as refills and closing months, and
says so in the log, at /readyz and as a metric. On SQLite there is one clock.
"""

import logging
from collections.abc import Iterable
from datetime import timedelta
from threading import Lock

from django.db import connection
from django.db.models import DateTimeField, Func
from django.utils import timezone

from kit.storage import reading
from kit.telemetry.metrics import Gauge

logger = logging.getLogger(__name__)

MOST_DIFFERENCE = timedelta(seconds=5)
AGREEING = timedelta(0)


class FarthestGauge(Gauge):
    """The value of a living process that is farthest from 0."""

    def combine(self, values: Iterable[float]) -> float:
        return max(values, key=abs)


difference_seconds = FarthestGauge(
    "licensing_clock_difference_seconds",
    "Seconds by which the clock of this machine is ahead of PostgreSQL's; negative if it is behind.",
)


class ClockTimestamp(Func):
    """PostgreSQL's time when it reads a row, for a query that is needed anyway."""

    function, template, output_field = "clock_timestamp", "%(function)s()", DateTimeField()


class ClockWatch:
    """How far this process's clock was from PostgreSQL's when it was last compared."""

    def __init__(self) -> None:
        self.difference = AGREEING
        self.lock = Lock()

    def agrees(self) -> bool:
        """Compare the clocks now, with a statement on PostgreSQL. Logs a change."""
        measured = measure()
        with self.lock:
            was_far, self.difference = is_far(self.difference), measured
            difference_seconds.values[0] = measured.total_seconds()
        if is_far(measured) and not was_far:
            logger.error(
                "This machine's clock is %s. Until it agrees within %d s, this process neither refills nor expires "
                "credit, closes no month and announces no deadline. Synchronise it (NTP).",
                describe(measured),
                MOST_DIFFERENCE.total_seconds(),
            )
        elif was_far and not is_far(measured):
            logger.warning("This machine's clock agrees with PostgreSQL's again.")
        return not is_far(measured)

    def fault(self) -> str | None:
        """Return how the clocks differed when they were last compared; None if they agreed."""
        return describe(self.difference) if is_far(self.difference) else None


watch = ClockWatch()


def measure() -> timedelta:
    """Return how far this process's clock is ahead. The time that the statement takes does not count."""
    if connection.vendor != "postgresql":
        return AGREEING
    before, there, after = timezone.now(), reading.database_time(), timezone.now()
    if before > there:
        return before - there
    return min(after - there, AGREEING)


def is_far(difference: timedelta) -> bool:
    return abs(difference) > MOST_DIFFERENCE


def describe(difference: timedelta) -> str:
    side = "ahead of" if difference > AGREEING else "behind"
    return f"{abs(difference).total_seconds():,.1f} s {side} PostgreSQL's"


def knows_time_zone(zone: str) -> bool:
    """Whether the database knows the time zone: PostgreSQL computes the months of statements by it."""
    if zone == "UTC" or connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_timezone_names WHERE name = %s)", [zone])
        return bool(cursor.fetchone()[0])
