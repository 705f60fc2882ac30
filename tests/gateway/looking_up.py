"""Look-ups on the event loop, for the tests that compare them with those in a thread."""

import asyncio

from licensing.async_lookup import AsyncLookup
from licensing.lookup import Found, Wanted


def found_on_the_loop(*many: Wanted) -> list[Found | None]:
    async def find() -> list[Found | None]:
        lookup = AsyncLookup()
        try:
            return [*await lookup.find_facts(many), *await lookup.find_facts(many)]  # prepared once, then used
        finally:
            close(lookup)

    first, second = (found := asyncio.run(find()))[: len(many)], found[len(many) :]
    assert first == second
    return first


def close(lookup: AsyncLookup) -> None:
    for session in lookup.sessions.idle:
        session.close()
