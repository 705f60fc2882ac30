"""Event-loop look-ups for tests that compare them with look-ups in a thread."""

import asyncio
from collections.abc import Callable, Iterator
from threading import Condition, Thread

from django.db import connection

from licensing.access.event_loop.lookup import AsyncKeys, AsyncLookup, AsyncNumbers
from licensing.access.subjects import LookupRequest, LookupResult


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


def found_while(change: Callable[[], Iterator[None]], wanted: LookupRequest) -> list[LookupResult | None]:
    """Return the results of repeated look-ups during another thread's changes.

    `change` yields after each change, and goes on once a look-up that began after it has ended.
    """
    found: list[LookupResult | None] = []
    looked = Condition()

    async def look() -> None:
        lookup = AsyncLookup()
        while writer.is_alive():
            result = await lookup.find_facts([wanted])
            with looked:
                found.extend(result)
                looked.notify_all()
        close(lookup)

    def wait_for_a_look() -> None:
        with looked:
            enough = len(found) + 2  # one look-up may be under way
            assert looked.wait_for(lambda: len(found) >= enough, 60)

    def write() -> None:
        try:
            for _ in change():
                wait_for_a_look()
        finally:
            connection.close()

    writer = Thread(target=write)
    writer.start()
    asyncio.run(look())
    writer.join()
    return found


def close(*many: AsyncKeys | AsyncLookup | AsyncNumbers) -> None:
    for one in many:
        for session in one.sessions.idle:
            session.close()
