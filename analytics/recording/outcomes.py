"""The outcome of recording a decision."""

import logging
from datetime import timedelta
from enum import Enum, auto
from typing import NoReturn

from msgspec import Struct

from kit.http.errors import ServiceUnavailable
from kit.storage.outage_causes import outages

logger = logging.getLogger(__name__)

# Pages and summaries count a minute some seconds after its end (analytics.events.access_summaries.GRACE). Decisions of
# that minute must be in a transaction by then.
RECORDED_WITHIN = timedelta(seconds=8)


class Unstored(Enum):
    """Why an entry was not stored."""

    STALE = auto()  # its facts no longer hold
    RETRY = auto()  # it did not fit into its batch; its facts may still hold
    UNPAID = auto()  # a wallet needs a transaction (analytics.recording.spending_sql); its facts may still hold
    TAKEN = auto()  # another request used its Idempotency-Key first
    UNAWAITED = auto()  # its client has left
    LATE = auto()  # it was decided over RECORDED_WITHIN ago


class Outcome(Struct, frozen=True, gc=False):
    """The result of recording an entry: all of its decisions are stored, or none."""

    unstored: Unstored | None = None  # None if it was stored
    # What the rule's limit had left before the first decision, nothing if below 1. None if no limit was to be counted.
    remaining_before: int | None = None
    available: int | None = None  # what the last spend leaves in its wallet, in millionths
    behind: bool = False  # the account has a newer epoch, at which the facts still hold

    @property
    def is_stored(self) -> bool:
        return self.unstored is None

    @property
    def may_hold(self) -> bool:
        """Whether the facts of an entry that was not stored may still hold."""
        return self.unstored in (Unstored.RETRY, Unstored.UNPAID)

    def counted(self, index: int) -> "LimitResult":
        """Return the limit's result for the decision at this index of an entry with a claim."""
        remaining = (self.remaining_before or 0) - index
        return LimitResult(granted=remaining > 0, remaining=max(remaining - 1, 0))


class LimitResult(Struct, frozen=True, gc=False):
    """A rule limit's result for one decision: whether it was granted, and what remains."""

    granted: bool
    remaining: int


STORED = Outcome()
STORED_BEHIND = Outcome(behind=True)
STALE = Outcome(Unstored.STALE)
RETRY = Outcome(Unstored.RETRY)
UNPAID = Outcome(Unstored.UNPAID)
TAKEN = Outcome(Unstored.TAKEN)
UNAWAITED = Outcome(Unstored.UNAWAITED)
LATE = Outcome(Unstored.LATE)


def refuse_late_recording() -> NoReturn:
    """Log a decision that was not recorded in time as an outage of the database. Raises ServiceUnavailable."""
    outages.log_timeout(logger, f"a decision was not recorded within {RECORDED_WITHIN.seconds} seconds")
    raise ServiceUnavailable("The decision could not be recorded in time. Try again.", retry_after=1)
