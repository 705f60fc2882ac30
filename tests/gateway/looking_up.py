"""Event-loop look-ups for tests that compare them with look-ups in a thread."""

import asyncio
from collections.abc import Callable
from threading import Thread

from licensing.access.event_loop.lookup import AsyncLookup, AsyncNumbers
from licensing.access.lookup.request import LookupRequest, LookupResult


def found_on_the_loop(*many: LookupRequest) -> list[LookupResult | None]:
    async def find() -> list[LookupResult | None]:
        lookup = AsyncLookup()
        try:
            return [*await lookup.find_facts(many), *await lookup.find_facts(many)]  # prepared once, then used
        finally:
            close(lookup)

    first, second = (found := asyncio.run(find()))[: len(many)], found[len(many) :]
    assert first == second
    return first


def found_while(change: Callable[[], None], wanted: LookupRequest) -> list[LookupResult | None]:
    """Return the results of repeated look-ups during another thread's changes."""
    found: list[LookupResult | None] = []

    async def look() -> None:
        lookup = AsyncLookup()
        while writer.is_alive():
            found.extend(await lookup.find_facts([wanted]))
        close(lookup)

    writer = Thread(target=change)
    writer.start()
    asyncio.run(look())
    writer.join()
    return found


def close(*many: AsyncLookup | AsyncNumbers) -> None:
    for one in many:
        for session in one.sessions.idle:
            session.close()
