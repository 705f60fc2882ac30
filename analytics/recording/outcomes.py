"""The outcome of recording a decision."""

import logging
from datetime import timedelta

from msgspec import Struct

from kit.http.errors import ServiceUnavailable
from kit.storage.outages import outages

logger = logging.getLogger(__name__)

# Pages and summaries count a minute some seconds after its end (analytics.events.summaries.GRACE): what is decided
# earlier must be in a transaction by then.
RECORDED_WITHIN = timedelta(seconds=8)


class Outcome(Struct, frozen=True, gc=False):
    """The result of recording an entry: all of its decisions are stored, unless it is `stale`.

    `retry`: stale only because of its batch; its facts may still hold. `taken`: another request used its
    Idempotency-Key first. `unawaited`: its client has left. `late`: it was decided over RECORDED_WITHIN ago. `unpaid`:
    stale because a wallet needs a transaction (analytics.recording.spending). `room`: what the rule's limit had left
    before the first decision (none if below 1), None without a claim. `available`: what the last spend leaves in its
    wallet, in millionths. `behind`: the account has a newer epoch, at which the facts still hold.
    """

    stale: bool = False
    room: int | None = None
    retry: bool = False
    taken: bool = False
    behind: bool = False
    unpaid: bool = False
    unawaited: bool = False
    late: bool = False
    available: int | None = None

    def counted(self, place: int) -> "LimitResult":
        """Return the limit's result for the decision at index `place` of an entry with a claim."""
        left = (self.room or 0) - place
        return LimitResult(granted=left > 0, remaining=max(left - 1, 0))


class LimitResult(Struct, frozen=True, gc=False):
    """A rule limit's result for one decision: whether it was granted, and what remains."""

    granted: bool
    remaining: int


STORED = Outcome()
STORED_BEHIND = Outcome(behind=True)
STALE = Outcome(stale=True)
RETRY = Outcome(stale=True, retry=True)
TAKEN = Outcome(stale=True, taken=True)
UNPAID = Outcome(stale=True, retry=True, unpaid=True)
UNAWAITED = Outcome(stale=True, unawaited=True)
LATE = Outcome(stale=True, late=True)


def too_late() -> ServiceUnavailable:
    """Return the error of a decision that was not recorded in time. Logs it as an outage of the database."""
    outages.log_timeout(logger, f"a decision was not recorded within {RECORDED_WITHIN.seconds} seconds")
    return ServiceUnavailable("The decision could not be recorded in time. Try again.", retry_after=1)
