"""Plan limits on the event loop: the same Redis script, without threads."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import hiredis
import redis
from redis.asyncio.connection import AbstractConnection

from accounts.limits.counters import Consumed
from accounts.limits.limiter import Limiter
from accounts.limits.redis_address import SECONDS_TO_WAIT, RedisAddress
from accounts.limits.redis_counters import RedisCounters, command
from accounts.limits.windows import Consume, LimitState
from kit.telemetry.tracing import traced

Reply = list[int] | hiredis.ReplyError


class Pipeline(asyncio.Protocol):
    """A connection opened by redis-py but driven without its streams, which take four times the work of a
    round trip.
    """

    def __init__(self, connection: AbstractConnection) -> None:
        self.connection = connection  # the connection closes with its last reference
        writer = connection._writer
        if writer is None:
            raise redis.ConnectionError("the connection is closed")
        self.transport: asyncio.WriteTransport = writer.transport
        self.reader = hiredis.Reader()
        self.replies: list[Reply] = []
        self.wanted = 0
        self.done: asyncio.Future[list[Reply]] | None = None
        self.transport.set_protocol(self)

    async def ask(self, commands: Sequence[Any]) -> list[Reply]:
        """Send the commands and return the replies. After RedisError or TimeoutError the connection is unusable."""
        if self.transport.is_closing():
            raise redis.ConnectionError("the connection is closed")
        loop = asyncio.get_running_loop()
        self.replies, self.wanted, self.done = [], len(commands), loop.create_future()
        self.transport.write(b"".join(map(hiredis.pack_command, commands)))
        timer = loop.call_later(SECONDS_TO_WAIT, self.fail, TimeoutError("no reply in time"))
        try:
            return await self.done
        finally:
            timer.cancel()

    def data_received(self, data: bytes) -> None:
        self.reader.feed(data)
        while (reply := self.reader.gets()) is not False:
            self.replies.append(reply)
        if self.done is not None and not self.done.done() and len(self.replies) == self.wanted:
            self.done.set_result(self.replies)

    def connection_lost(self, error: Exception | None) -> None:
        self.fail(redis.ConnectionError("the connection was closed"))

    def fail(self, error: Exception) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


class AsyncLimiter:
    """Counts in Redis, or in this process while Redis is down, sharing the counters that threads use."""

    def __init__(self, limiter: Limiter, address: RedisAddress) -> None:
        self.limiter = limiter
        self.pool = address.async_pool()
        self.seconds_to_connect = address.seconds_to_connect
        self.pipeline: Pipeline | None = None

    async def consume_many(self, wanted: Sequence[Consume]) -> list[LimitState]:
        """Count simultaneous requests like Limiter.consume_many."""
        now = int(time.time())
        together = self.limiter.together(wanted)
        counters = self.limiter.counters
        if not isinstance(counters, RedisCounters) or not counters.worth_asking():
            return self.limiter.states(wanted, together, counters.consume(together, now), now)
        try:
            counted = await self.ask(together, now)
        except (redis.RedisError, OSError, TimeoutError) as error:
            self.drop()
            counters.note_failure(error)
            return self.limiter.states(wanted, together, counters.consume_here(together, now), now)
        counters.note_success()
        return self.limiter.states(wanted, together, counted, now)

    @traced("EVAL limits", system="redis")
    async def ask(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        commands = [command(consume, now) for consume in wanted]
        if self.pipeline is not None:
            # A connection to a restarted Redis, or to a former primary, fails only now, before anything was counted.
            with suppress(redis.ConnectionError, redis.ReadOnlyError):
                return parse_replies(await self.pipeline.ask(commands))
            self.drop()
        async with asyncio.timeout(self.seconds_to_connect):
            connection = self.pool.make_connection()
            await connection.connect()
        self.pipeline = Pipeline(connection)
        return parse_replies(await self.pipeline.ask(commands))

    def drop(self) -> None:
        broken, self.pipeline = self.pipeline, None
        if broken is not None:
            broken.transport.abort()


def parse_replies(replies: Sequence[Reply]) -> list[Consumed]:
    counted: list[Consumed] = []
    for reply in replies:
        if isinstance(reply, hiredis.ReplyError):
            raise (redis.ReadOnlyError if str(reply).startswith("READONLY") else redis.ResponseError)(str(reply))
        granted, *used = reply
        counted.append((granted, used))
    return counted
