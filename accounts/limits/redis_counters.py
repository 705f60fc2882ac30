"""Counters in Redis, which all processes share, and in this process what no server counts."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeVar, cast

import hiredis
import redis
from msgspec import msgpack
from prometheus_client import Counter
from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisClusterException

from accounts.limits.redis_servers import CONSUME, Fault, RedisAddress, find_server_fault, find_topology_fault
from accounts.limits.windows import Consumed, Group, Hit, ProcessCounters
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
R = TypeVar("R")
RETRY_REDIS_AFTER = 1.0  # seconds
NO_LIMIT = 2**53  # of a meter, for Lua's numbers
ERRORS = (redis.RedisError, RedisClusterException, OSError)

fallbacks = Counter("licensing_limiter_fallbacks", "Requests counted per process because Redis did not answer.")


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


class Connection:
    """A connection of one event loop to a single server, or to the primary that Sentinels watch.

    It makes one call at a time.
    """

    def __init__(self, client: Redis) -> None:
        self.client = client
        self.kept: AbstractConnection | None = None
        self.seconds_to_wait: float | None = None

    def servers(self) -> Mapping[str, Redis]:
        return {"": self.client}

    @traced("EVAL limits", system="redis")
    async def run_script(self, hits: Sequence[Hit], now: int) -> Sequence[Consumed]:
        """Count in one round trip to the server of these buckets. Raises one of ERRORS."""
        connection = await self.connected()
        command = cast("tuple[bytes]", build_command(hits, now))  # hiredis' stub names a tuple of one
        try:
            async with asyncio.timeout(self.seconds_to_wait):
                await connection.send_packed_command(hiredis.pack_command(command), check_health=False)
                reply: Sequence[Consumed] = await connection.read_response()
                return reply
        except BaseException:
            await connection.disconnect(nowait=True)  # drop the pending reply
            raise

    async def connected(self) -> AbstractConnection:
        """Return the kept connection, made anew if the server has closed it.

        The client's own calls take twice as long: each takes a connection from the pool, with a timer for every step.
        """
        if self.kept is not None:
            if self.kept.is_connected and not await self.kept.can_read():
                return self.kept
            await self.kept.disconnect(nowait=True)
        connection = self.client.connection_pool.make_connection()
        await connection.connect()
        # The whole call has one timer, instead of one for sending and one for the reply.
        self.seconds_to_wait, connection.socket_timeout = connection.socket_timeout, None
        self.kept = connection
        return connection

    async def close(self) -> None:
        if self.kept is not None:
            await self.kept.disconnect()
        await self.client.aclose()


class ClusterConnection:
    """Connections of one event loop to the primaries of a Cluster."""

    def __init__(self, client: RedisCluster) -> None:
        self.client = client

    def servers(self) -> Mapping[str, ClusterNode]:
        """Return the primaries by name."""
        return {node.name: node for node in self.client.get_primaries()}

    async def divide(self, hits: Sequence[Hit]) -> Mapping[str, Sequence[Hit]]:
        """Return what each primary counts, by its name. Raises one of ERRORS if none has a bucket's slot."""
        await self.client.initialize()
        shares: dict[str, list[Hit]] = defaultdict(list)
        for hit in hits:
            node = cast(ClusterNode, self.client.get_node_from_key(redis_key(hit.bucket)))
            shares[node.name].append(hit)
        return shares

    @traced("EVAL limits", system="redis")
    async def run_script(self, hits: Sequence[Hit], now: int) -> Sequence[Consumed]:
        """Do the same by a call for each bucket. MOVED and ASK, which the client follows, have counted nothing."""
        pipeline = self.client.pipeline()
        for hit in hits:
            pipeline.execute_command(*build_command([hit], now))
        try:
            replies = await pipeline.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        except ERRORS:
            # Unlike single commands, pipelines do not look for the replica that has replaced a primary.
            with suppress(*ERRORS):
                await self.client.nodes_manager.initialize()
            raise
        return [reply[0] for reply in replies]

    async def close(self) -> None:
        await self.client.aclose()


def connect(address: RedisAddress) -> Connection | ClusterConnection:
    """Return a connection for one event loop, which connects when it is first used."""
    client = address.client()
    if isinstance(client, RedisCluster):
        return ClusterConnection(client)
    return Connection(client)


class RedisCounters:
    """Counts in Redis, in one round trip to each server; in this process what a server does not answer.

    Threads share a connection, on an event loop of its own.
    """

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.fallback = ProcessCounters()
        self.outages = Outages()
        self.connection = connect(address)
        self.turn = asyncio.Lock()
        self.loop = asyncio.new_event_loop()
        Thread(target=self.loop.run_forever, name="limits", daemon=True).start()

    def consume(self, hits: Sequence[Hit], now: int) -> list[Consumed]:
        """Count for a thread."""
        return self.run(self.count(self.connection, hits, now))

    def run(self, work: Coroutine[object, object, R]) -> R:
        """Run a coroutine for a thread, once those of others have ended."""
        return asyncio.run_coroutine_threadsafe(self.in_turn(work), self.loop).result()

    async def in_turn(self, work: Coroutine[object, object, R]) -> R:
        async with self.turn:
            return await work

    async def count(
        self, connection: Connection | ClusterConnection, hits: Sequence[Hit], now: int, server: str = ""
    ) -> list[Consumed]:
        """Count at one server, or at those of a Cluster; in this process if it does not answer."""
        try:
            if self.outages.since is None or self.outages.allows(server):
                if isinstance(connection, ClusterConnection) and not server:
                    return await self.count_in_cluster(connection, hits, now)
                counted = [(granted, used) for granted, used in await connection.run_script(hits, now)]
                if self.outages.since is not None:
                    self.outages.note_success(server, connection.servers())
                return counted
        except ERRORS as error:
            self.outages.note_failure(error, server)
        fallbacks.inc(sum(hit.cost > 0 for hit in hits))
        return self.fallback.consume(hits, now)

    async def count_in_cluster(self, connection: ClusterConnection, hits: Sequence[Hit], now: int) -> list[Consumed]:
        counted: dict[Group, Consumed] = {}
        for server, share in (await connection.divide(hits)).items():
            counts = await self.count(connection, share, now, server)
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
            await self.connection.client.initialize()
        except ERRORS as error:
            self.outages.note_failure(error)
            return None
        faults: list[Fault | None] = []
        for name, server in self.connection.servers().items():
            try:
                faults.append(await find_server_fault(server))
            except ERRORS as error:
                self.outages.note_failure(error, name)
            else:
                self.outages.note_success(name, self.connection.servers())
        if len(faults) < len(self.connection.servers()) and isinstance(self.connection, ClusterConnection):
            await self.connection.client.nodes_manager.initialize()  # a replica may have replaced a primary
        return next(filter(None, faults), None)


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
