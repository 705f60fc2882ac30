"""`manage.py serve` with faults that the tests of this folder must detect, or with shorter waits.

The first argument names the alteration. Worker processes import this module, too.
"""

import os
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from threading import Timer
from typing import Any

import django
from django.core.management import execute_from_command_line
from django.db import connection, transaction

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from accounts.plans import epochs  # noqa: E402 - needs the models, as do the next
from accounts.webhooks import queue, worker  # noqa: E402
from analytics.recording import recorder  # noqa: E402
from analytics.recording.recorder import Entry, Outcome  # noqa: E402
from licensing.access.event_loop import gateway  # noqa: E402
from licensing.access.event_loop.cached_facts import CachedFacts  # noqa: E402
from licensing.access.subjects import LookupResult  # noqa: E402

SECONDS_LATE = 0.3
record_now, look_up, decide_checks = recorder.record, CachedFacts.look_up, gateway.decide_checks


def record_later(entries: Sequence[Entry], _within: timedelta | None = None) -> list[Outcome]:
    def record() -> None:
        with transaction.atomic():
            record_now(entries)
        connection.close()

    Timer(SECONDS_LATE, record).start()
    return [Outcome(remaining_before=entry.claim and entry.claim.allowance) for entry in entries]


class NoListeners(list[object]):
    def append(self, listener: object) -> None:
        """Do not add it."""


class AnyEpoch(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


async def look_up_at_any_epoch(facts: CachedFacts, *arguments: Any) -> LookupResult:
    found = await look_up(facts, *arguments)
    return LookupResult(AnyEpoch(found.epoch), found.items, found.requesters)


def decide_at_the_epoch(checks: Any, found: LookupResult, *arguments: Any) -> Any:
    return decide_checks(checks, LookupResult(int(found.epoch), found.items, found.requesters), *arguments)


def be_careless() -> None:
    """Answer before the recorder commits, and do not hear of the process's own changes."""
    vars(epochs)["listeners"] = NoListeners()
    recorder.record = record_later


def be_forgetful() -> None:
    """Decide at any epoch of the key."""
    CachedFacts.look_up = look_up_at_any_epoch  # type: ignore[method-assign]
    gateway.decide_checks = decide_at_the_epoch


def be_hasty() -> None:
    """Repeat the webhook deliveries of a killed worker after some seconds."""
    worker.TIMEOUT_SECONDS = 3
    queue.LEASE = timedelta(seconds=6)


ALTERATIONS: dict[str, Callable[[], None]] = {
    "careless": be_careless,
    "forgetful": be_forgetful,
    "hasty": be_hasty,
}
ALTERATIONS[sys.argv[1]]()

if __name__ == "__main__":
    execute_from_command_line(["manage.py", "serve"])
