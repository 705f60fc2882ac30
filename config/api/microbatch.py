"""From an event loop to blocking calls: all that arrive while one call is under way share the next.

So the busier the service, the less each costs: one round trip, one commit, one hop between threads for many requests.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from config.api.errors import ServiceUnavailable

T = TypeVar("T")
R = TypeVar("R")


class MicroBatch(Generic[T, R]):
    """Runs `call(items) → results` in a thread of its own, once at a time, over whatever has been submitted by then.

    An exception fails exactly the items of its call. Beyond `max_waiting` items nothing more is taken in: memory is
    bounded, and the client is told to come back.
    """

    def __init__(
        self, name: str, call: Callable[[Sequence[T]], Sequence[R]], *, max_items: int = 500, max_waiting: int = 10_000
    ) -> None:
        self.name, self.call = name, call
        self.max_items, self.max_waiting = max_items, max_waiting
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self.waiting: list[tuple[T, asyncio.Future[R]]] = []
        self.task: asyncio.Task[None] | None = None

    def submit(self, item: T) -> "asyncio.Future[R]":
        """Raises ServiceUnavailable if too much is waiting."""
        if len(self.waiting) >= self.max_waiting:
            raise ServiceUnavailable("The service is overloaded. Try again shortly.", retry_after=1)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self.waiting.append((item, future))
        if self.task is None:
            self.task = loop.create_task(self.run())
        return future

    async def in_thread(self, items: Sequence[T]) -> Sequence[R]:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self.call, items)

    async def run(self) -> None:
        while self.waiting:
            batch, self.waiting = self.waiting[: self.max_items], self.waiting[self.max_items :]
            try:
                results = await self.in_thread([item for item, _ in batch])
            except Exception as error:  # each waiting request answers it
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    if not future.done():  # its client may have gone
                        future.set_result(result)
        self.task = None
