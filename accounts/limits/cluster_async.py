"""Plan limits in a Cluster on the event loop."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from accounts.limits.cluster_counters import ClusterCounters
from accounts.limits.counters import Consumed
from accounts.limits.limiter import Limiter
from accounts.limits.redis_address import RedisAddress
from accounts.limits.redis_counters import ERRORS, command, key_of
from accounts.limits.windows import Consume, LimitState
from kit.telemetry.tracing import traced


class AsyncClusterLimiter:
    """Counts in a Cluster with one pipeline for each primary, sharing the outages and counters that threads use."""

    def __init__(self, limiter: Limiter, address: RedisAddress) -> None:
        self.limiter = limiter
        self.cluster = address.async_cluster()
        self.is_stale = False  # whether slots may have moved since the client asked for them

    @property
    def counters(self) -> ClusterCounters:
        return cast(ClusterCounters, self.limiter.counters)

    async def consume_many(self, wanted: Sequence[Consume]) -> list[LimitState]:
        """Count simultaneous requests like Limiter.consume_many."""
        now = int(time.time())
        together = self.limiter.together(wanted)
        return self.limiter.states(wanted, together, await self.consume(together, now), now)

    async def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        if not self.counters.worth_asking():
            return self.counters.consume_here(wanted, now)
        by_server: dict[str, list[Consume]] = defaultdict(list)
        try:
            await self.connect()
            for consume in wanted:
                by_server[self.server_of(consume)].append(consume)
        except ERRORS as error:
            self.counters.note_failure(error)
            return self.counters.consume_here(wanted, now)
        groups = await asyncio.gather(*(self.consume_on(server, group, now) for server, group in by_server.items()))
        counted = {
            consume.group: one
            for consumes, results in zip(by_server.values(), groups, strict=True)
            for consume, one in zip(consumes, results, strict=True)
        }
        return [counted[consume.group] for consume in wanted]

    async def connect(self) -> None:
        """Ask a node for the slots if that was not done yet or an answer has shown that they moved."""
        await self.cluster.initialize()
        if self.is_stale:
            self.is_stale = False
            with suppress(*ERRORS):  # the failed primary's own requests report it
                await self.cluster.nodes_manager.initialize()

    def server_of(self, consume: Consume) -> str:
        node = self.cluster.get_node_from_key(key_of(consume.bucket))
        return "" if node is None else node.name

    async def consume_on(self, server: str, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        """Count the buckets of one primary; in this process those that it does not answer for."""
        if not self.counters.worth_asking(server):
            return self.counters.consume_here(wanted, now)
        replies = await self.ask(wanted, now)
        errors = [reply for reply in replies if isinstance(reply, Exception)]
        if errors:
            self.counters.note_failure(errors[0], server)
        else:
            self.counters.note_answer(server, self.cluster)
        self.is_stale |= bool(errors) or any(self.server_of(consume) != server for consume in wanted)
        return [
            self.counters.consume_here([consume], now)[0] if isinstance(reply, Exception) else (reply[0], reply[1:])
            for consume, reply in zip(wanted, replies, strict=True)
        ]

    @traced("EVAL limits", system="redis")
    async def ask(self, wanted: Sequence[Consume], now: int) -> Sequence[list[int] | Exception]:
        """Run the script for each. The client follows MOVED and ASK, which say that nothing was counted."""
        pipeline = self.cluster.pipeline()
        for consume in wanted:
            pipeline.execute_command(*command(consume, now))
        try:
            return await pipeline.execute(raise_on_error=False)
        except ERRORS as error:
            return [error] * len(wanted)
