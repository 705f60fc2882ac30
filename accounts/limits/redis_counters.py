"""Counters in Redis, which all processes share, and in this process what no server counts."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Collection, Coroutine, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeVar, cast

from msgspec import msgpack
from prometheus_client import Counter
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode

from accounts.limits.redis_servers import (
    ERRORS,
    Client,
    Fault,
    RedisAddress,
    counting_servers,
    find_server_fault,
    find_topology_fault,
)
from accounts.limits.windows import MOST_AHEAD, Consumed, Group, Hit, ProcessCounters
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
R = TypeVar("R")
RETRY_REDIS_AFTER = 1.0  # seconds
NO_LIMIT = 2**53  # of a meter, for Lua's numbers

fallbacks = Counter("licensing_limiter_fallbacks", "Requests counted per process because Redis did not answer.")

# Counts in several buckets. ARGV[1] has the cost, the time and the windows of each, and KEYS the hash of each window;
# windows of the same part of a bucket share one. Returns for each bucket how much is granted, and its former counts.
CONSUME = """
local reply, first = {}, 0
for _, bucket in ipairs(cmsgpack.unpack(ARGV[1])) do
  local cost, now, windows = unpack(bucket)
  local granted, numbers, counts, longest = cost, {}, {}, {}
  for i, window in ipairs(windows) do
    local key, limit, seconds = KEYS[first + i], unpack(window)
    local kept = redis.call('HMGET', key, 'n' .. seconds, 'c' .. seconds)
    numbers[i], counts[i] = math.floor(now / seconds), 0
    local former = tonumber(kept[1] or 0)
    if former >= numbers[i] and former * seconds <= now + MOST_AHEAD then
      numbers[i], counts[i] = former, tonumber(kept[2])
    end
    granted = math.max(math.min(granted, limit - counts[i]), 0)
    longest[key] = math.max(longest[key] or 0, seconds)
  end
  if granted > 0 then
    for i, window in ipairs(windows) do
      local number, count = string.format('%d', numbers[i]), string.format('%d', counts[i] + granted)
      redis.call('HSET', KEYS[first + i], 'n' .. window[2], number, 'c' .. window[2], count)
    end
    for key, seconds in pairs(longest) do
      redis.call('EXPIRE', key, seconds * 2)
    end
  end
  table.insert(reply, {granted, counts})
  first = first + #windows
end
return reply
""".replace("MOST_AHEAD", str(MOST_AHEAD))


class Outages:
    """Which servers do not answer. Primaries of a Cluster have names; otherwise the name is empty."""

    def __init__(self) -> None:
        self.retry_at: dict[str, float] = {}  # of the servers that failed last time
        self.since: float | None = None

    def allows(self, server: str = "") -> bool:
        """Whether to ask the server. Requests do not wait for one that has just failed."""
        return time.monotonic() >= self.retry_at.get(server, 0.0)

    def note_failure(self, error: Exception, server: str = "") -> None:
        self.retry_at[server] = time.monotonic() + RETRY_REDIS_AFTER
        if self.since is None:
            self.since = time.monotonic()
            # Sentinel's errors go on with the whole client.
            reason = str(error).partition(" : ")[0] or type(error).__name__
            logger.warning("Redis does not answer (%s): limits hold per process until it returns", reason)

    def note_success(self, server: str, servers: Collection[str]) -> None:
        """Note an answer, and forget all but these servers: a failover has replaced the others."""
        if self.since is None:
            return
        self.retry_at = {name: at for name, at in self.retry_at.items() if name in servers and name != server}
        if not self.retry_at:
            logger.warning("Redis is back after %.0f s", time.monotonic() - self.since)
            self.since = None


class RedisCounters:
    """Counts in Redis, in one round trip to each server; in this process what a server does not answer.

    Threads share a client, on an event loop of its own.
    """

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.client = address.client()
        self.fallback = ProcessCounters()
        self.outages = Outages()
        self.loop = asyncio.new_event_loop()
        Thread(target=self.loop.run_forever, name="limits", daemon=True).start()

    def consume(self, hits: Sequence[Hit], now: int) -> list[Consumed]:
        """Count for a thread."""
        return self.run(self.count(self.client, hits, now))

    def run(self, work: Coroutine[object, object, R]) -> R:
        """Run a coroutine for a thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    async def count(self, client: Client, hits: Sequence[Hit], now: int, server: str = "") -> list[Consumed]:
        """Count at one server, or at those of a Cluster; in this process if it does not answer."""
        try:
            if self.outages.since is None or self.outages.allows(server):
                if isinstance(client, Redis):
                    counted = await run_script(client, hits, now)
                elif server:
                    counted = await run_pipeline(client, hits, now)
                else:
                    return await self.count_in_cluster(client, hits, now)
                if self.outages.since is not None:
                    self.outages.note_success(server, counting_servers(client))
                return counted
        except ERRORS as error:
            self.outages.note_failure(error, server)
        fallbacks.inc(sum(hit.cost > 0 for hit in hits))
        return self.fallback.consume(hits, now)

    async def count_in_cluster(self, client: RedisCluster, hits: Sequence[Hit], now: int) -> list[Consumed]:
        """Count at the primaries of the buckets' slots. Raises one of ERRORS if a slot has none."""
        await client.initialize()
        shares: dict[str, list[Hit]] = defaultdict(list)
        for hit in hits:
            node = cast(ClusterNode, client.get_node_from_key(redis_key(hit.bucket)))
            shares[node.name].append(hit)
        counted: dict[Group, Consumed] = {}
        for server, share in shares.items():
            counts = await self.count(client, share, now, server)
            counted.update(zip([hit.group for hit in share], counts, strict=True))
        return [counted[hit.group] for hit in hits]

    async def find_fault(self) -> Fault | None:
        """Inspect all servers, and note which of them answer. Returns None if none does."""
        if not self.outages.allows():
            return None
        try:
            fault = await find_topology_fault(self.address)
            if fault is not None:
                return fault
            if isinstance(self.client, RedisCluster):
                await self.client.nodes_manager.initialize()  # a replica may have replaced a primary
        except ERRORS as error:
            self.outages.note_failure(error)
            return None
        servers = counting_servers(self.client)
        for name, server in servers.items():
            try:
                found = await find_server_fault(server)
            except ERRORS as error:
                self.outages.note_failure(error, name)
            else:
                self.outages.note_success(name, servers)
                fault = fault or found
        return fault


@traced("EVAL limits", system="redis")
async def run_script(client: Redis, hits: Sequence[Hit], now: int) -> list[Consumed]:
    """Count in one round trip. Raises one of ERRORS.

    There is one timer for sending and the reply. The client's own calls have two, and take twice the processor time.
    """
    connection = await client.connection_pool.get_connection()
    seconds = connection.socket_timeout
    connection.socket_timeout = None
    try:
        async with asyncio.timeout(seconds):
            await connection.send_command(*build_command(hits, now), check_health=False)
            return [(granted, used) for granted, used in await connection.read_response()]
    finally:
        connection.socket_timeout = seconds
        await client.connection_pool.release(connection)


@traced("EVAL limits", system="redis")
async def run_pipeline(client: RedisCluster, hits: Sequence[Hit], now: int) -> list[Consumed]:
    """Count in one round trip to a primary, with a script for each slot. Raises one of ERRORS.

    The client follows MOVED and ASK, which have counted nothing.
    """
    pipeline = client.pipeline()
    for hit in hits:
        pipeline.execute_command(*build_command([hit], now))
    try:
        replies = await pipeline.execute(raise_on_error=False)
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
    except ERRORS:
        with suppress(*ERRORS):  # pipelines do not look for the replica that has replaced a primary
            await client.nodes_manager.initialize()
        raise
    return [(granted, used) for [(granted, used)] in replies]


def redis_key(bucket: str, part: str = "") -> str:
    """Return the key of a bucket or of its part. All parts of a bucket lie in one slot of a Cluster."""
    return f"limit:{{{bucket}}}:{part}" if part else f"limit:{{{bucket}}}"


def build_command(hits: Sequence[Hit], now: int) -> tuple[str | int | bytes, ...]:
    """Return the command that counts them, with one argument: packing many takes longer than a round trip."""
    keys, buckets = [], []
    for hit in hits:
        limits = []
        for window in hit.windows:
            keys.append(redis_key(hit.bucket, window.part))
            limits.append((NO_LIMIT if hit.is_meter else window.limit, window.seconds))
        buckets.append((hit.cost, hit.at or now, limits))
    return "EVAL", CONSUME, len(keys), *keys, msgpack.encode(buckets)
