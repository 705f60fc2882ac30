"""The numbers of new requesters, on the event loop."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from kit.storage.async_postgres import Sessions
from kit.storage.microbatch import MicroBatch
from kit.telemetry.tracing import traced
from licensing.requesters.numbers import POSTGRESQL

AT_ONCE = 100  # numbers beyond those that are needed; they are lost when the process ends

Reserve = Callable[[Sequence[int]], Awaitable[Sequence[int]]]  # as many numbers as these come to


class AsyncNumbers:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT numbers", system="postgresql")
    async def reserve(self, counts: Sequence[int]) -> list[int]:
        """As licensing.requesters.numbers.reserve."""
        rows = await self.sessions.run(POSTGRESQL, [str(sum(counts))])
        return [int(number or 0) for [number] in rows]


class Numbers:
    """Numbers in stock, so that one new requester in a hundred costs a statement."""

    def __init__(self, reserve: Reserve) -> None:
        self.reserve = reserve
        self.free: deque[int] = deque()
        self.orders: MicroBatch[int, None] = MicroBatch(self.fill)

    async def take(self, count: int) -> list[int]:
        while len(self.free) < count:
            await self.orders.submit(count)
        return [self.free.popleft() for _ in range(count)]

    async def fill(self, counts: Sequence[int]) -> list[None]:
        self.free += await self.reserve([*counts, AT_ONCE])
        return [None] * len(counts)
