"""Calls of a micro-batch."""

import asyncio


class Calls:
    """A call that the test releases, with the arguments of each call."""

    def __init__(self) -> None:
        self.given: list[list[int]] = []
        self.ends: list[asyncio.Future[None]] = []

    async def __call__(self, items):
        self.given.append(list(items))
        self.ends.append(asyncio.get_running_loop().create_future())
        await self.ends[-1]
        return [item * 10 for item in items]


async def turn() -> None:
    for _ in range(5):
        await asyncio.sleep(0)
