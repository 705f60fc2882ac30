"""Plan limits on the event loop: the same script, on a connection that no thread has to be woken for."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.asyncio.connection import AbstractConnection, ConnectionPool

from accounts.limits import TAKE, Limiter, LimitState, RedisCounters, Take, Taken, arguments, key_of

SECONDS_TO_WAIT = 0.5


class AsyncLimiter:
    """Counts in Redis; while that is away, in this process, together with the requests that threads serve."""

    def __init__(self, limiter: Limiter, url: str) -> None:
        self.limiter = limiter
        self.pool: Any = ConnectionPool.from_url(url, socket_connect_timeout=SECONDS_TO_WAIT)
        self.connection: AbstractConnection | None = None

    async def take_many(self, takes: Sequence[Take]) -> list[LimitState]:
        """As Limiter.take_many."""
        now = int(time.time())
        together = self.limiter.together(takes)
        counters = self.limiter.counters
        if not isinstance(counters, RedisCounters) or not counters.worth_asking():
            return self.limiter.states(takes, together, counters.take(together, now), now)
        try:
            async with asyncio.timeout(SECONDS_TO_WAIT):
                taken = await self.ask(together, now)
        except (redis.RedisError, OSError, TimeoutError) as error:
            await self.drop()
            counters.note_failure(error)
            return self.limiter.states(takes, together, counters.take_here(together, now), now)
        counters.note_success()
        return self.limiter.states(takes, together, taken, now)

    async def ask(self, takes: Sequence[Take], now: int) -> list[Taken]:
        if self.connection is not None:
            # One that a restarted Redis has closed shows it only now; then it has counted nothing.
            with suppress(redis.ConnectionError, OSError):
                return await self.ask_on(self.connection, takes, now)
            await self.drop()
        self.connection = self.pool.make_connection()
        await self.connection.connect()
        return await self.ask_on(self.connection, takes, now)

    async def ask_on(self, connection: AbstractConnection, takes: Sequence[Take], now: int) -> list[Taken]:
        commands: list[Any] = [("EVAL", TAKE, 1, key_of(take), *arguments(take, now)) for take in takes]
        await connection.send_packed_command(connection.pack_commands(commands))
        replies: list[Any] = [await connection.read_response() for _ in takes]
        return [(granted, used) for granted, *used in replies]

    async def drop(self) -> None:
        broken, self.connection = self.connection, None
        if broken is not None:
            await broken.disconnect(nowait=True)
