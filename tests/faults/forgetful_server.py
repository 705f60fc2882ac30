"""`manage.py serve` that decides at any epoch of the key, which the race against ending keys must detect."""

import os
import sys
from typing import Any

import django
from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from licensing.access.event_loop import gateway  # noqa: E402 - needs the models
from licensing.access.event_loop.cached_facts import CachedFacts  # noqa: E402
from licensing.access.subjects import LookupResult  # noqa: E402


class AnyEpoch(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


look_up, decide_checks = CachedFacts.look_up, gateway.decide_checks


async def look_up_at_any_epoch(facts: CachedFacts, *arguments: Any) -> LookupResult:
    found = await look_up(facts, *arguments)
    return LookupResult(AnyEpoch(found.epoch), found.items, found.requesters)


def decide_at_the_epoch(checks: Any, found: LookupResult, *arguments: Any) -> Any:
    return decide_checks(checks, LookupResult(int(found.epoch), found.items, found.requesters), *arguments)


# Worker processes import this module, too, and only the first of all runs what follows.
CachedFacts.look_up = look_up_at_any_epoch  # type: ignore[method-assign]
gateway.decide_checks = decide_at_the_epoch

if __name__ == "__main__":
    execute_from_command_line(["manage.py", "serve", *sys.argv[1:]])
