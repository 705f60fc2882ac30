"""The published terms of this process's sites. They are computed once for each change, and by one thread of an account
at a time, because anybody may ask for them and an account may have many items.
"""

from collections.abc import Callable
from threading import Event, Lock
from time import monotonic
from typing import NamedTuple

from kit.bounded_cache import BoundedCache
from kit.http.errors import ServiceUnavailable
from licensing.edge.publishing.published_terms import Terms

MAX_KEPT = 100_000  # entries of all sites: some 30 MB
MAX_WAITING = 2  # threads of an account that wait for a first document
SECONDS_TO_WAIT = 0.2  # since the computation began; of ordinary sites it takes a tenth of that
QUICK_SECONDS = 0.1  # seconds of a computation after which the next one may follow at once
REST_FACTOR = 3  # times a longer computation's seconds until the next one


class Computed(NamedTuple):
    """Terms at an epoch of the account. They hold until `again_at` (monotonic) though the epoch may have changed."""

    epoch: int
    terms: list[Terms]
    again_at: float


class Computation:
    """A computation that a thread has begun, and the number of threads that wait for it."""

    def __init__(self) -> None:
        self.began = monotonic()
        self.done = Event()
        self.waiting = 0


class CurrentTerms:
    """Terms by site. `compute` returns those of a site by its id."""

    def __init__(self, compute: Callable[[str], list[Terms]]) -> None:
        self.compute = compute
        self.kept: BoundedCache[str, Computed] = BoundedCache(lambda computed: 1 + len(computed.terms), MAX_KEPT)
        self.running: dict[str, Computation] = {}  # by account
        self.lock = Lock()

    def get(self, account_id: str, site_id: str, epoch: int) -> list[Terms]:
        """Return the site's terms at the epoch; the former ones while others are computed, or shortly after.

        Raises ServiceUnavailable if there are no former ones and a computation of the account takes long.
        """
        while True:
            former = self.kept.get(site_id)
            if former is not None and (former.epoch == epoch or monotonic() < former.again_at):
                return former.terms
            with self.lock:
                running = self.running.get(account_id)
                if running is None:
                    started = self.running[account_id] = Computation()
            if running is None:
                return self.run(started, account_id, site_id, epoch)
            if former is not None:
                return former.terms
            if not self.wait(running):
                raise ServiceUnavailable("The terms of this site are being computed. Try again.", retry_after=1)

    def run(self, computation: Computation, account_id: str, site_id: str, epoch: int) -> list[Terms]:
        try:
            terms = self.compute(site_id)
            took = monotonic() - computation.began
            again_at = monotonic() + REST_FACTOR * took if took > QUICK_SECONDS else 0.0
            self.kept.put(site_id, Computed(epoch, terms, again_at))
            return terms
        finally:
            with self.lock:
                del self.running[account_id]
            computation.done.set()

    def wait(self, running: Computation) -> bool:
        """Wait for another thread's computation while it is young and few wait. Return whether it ended."""
        seconds = running.began + SECONDS_TO_WAIT - monotonic()
        with self.lock:
            if seconds <= 0 or running.waiting >= MAX_WAITING:
                return False
            running.waiting += 1
        return running.done.wait(seconds)

    def clear(self) -> None:
        self.kept.clear()
