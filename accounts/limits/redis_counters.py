"""Counters in Redis, which all processes share, and in this process what no server counts."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import cast

import hiredis
import redis
from msgspec import msgpack
from prometheus_client import Counter
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.asyncio.connection import AbstractConnection
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from accounts.limits.redis_servers import (
    CONSUME,
    Fault,
    RedisAddress,
    find_fault_in,
    find_settings_fault,
    find_topology_fault,
    read_info,
)
from accounts.limits.windows import Consume, Consumed, Group, ProcessCounters
from kit.storage.light_tasks import run_blocking
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
RETRY_REDIS_AFTER = 1.0  # seconds
NO_LIMIT = 2**53  # of a meter, for Lua's numbers
ERRORS = (redis.RedisError, RedisClusterException, OSError)

Client = redis.Redis | RedisCluster
AsyncClient = AsyncRedis | AsyncRedisCluster
AnyClient = Client | AsyncClient
AnyCluster = RedisCluster | AsyncRedisCluster

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

    def note_success(self, server: str = "") -> None:
        if self.since is not None:
            self.retry_at.pop(server, None)
            if not self.retry_at:
                logger.warning("Redis is back after %.0f s", time.monotonic() - self.since)
                self.since = None

    def forget_all_but(self, servers: Collection[str]) -> None:
        """Forget the servers that a failover has replaced."""
        self.retry_at = {server: at for server, at in self.retry_at.items() if server in servers}


class RedisCounters:
    """Counts in Redis, in one round trip to each server; in this process what a server does not answer."""

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.fallback = ProcessCounters()
        self.outages = Outages()
        self.threads = ThreadConnection(address, self.outages.allows)

    def consume(self, consumes: Sequence[Consume], now: int) -> list[Consumed]:
        """Count for a thread."""
        return run_blocking(self.count(self.threads, consumes, now))

    async def count(self, connection: "Connection", consumes: Sequence[Consume], now: int) -> list[Consumed]:
        """Count by a connection of the caller's thread or event loop."""
        if self.address.topology != "cluster":
            return await self.count_share(connection, "", consumes, now)
        if not self.outages.allows():
            return self.consume_here(consumes, now)
        try:
            shares = divide(cast(AnyCluster, await connection.connect()), consumes)
        except ERRORS as error:
            self.outages.note_failure(error)
            return self.consume_here(consumes, now)
        counted: dict[Group, Consumed] = {}
        for server, share in shares.items():
            counts = await self.count_share(connection, server, share, now)
            counted.update(zip([consume.group for consume in share], counts, strict=True))
        return [counted[consume.group] for consume in consumes]

    async def count_share(
        self, connection: "Connection", server: str, share: Sequence[Consume], now: int
    ) -> list[Consumed]:
        """Count at one server; in this process if it does not answer."""
        try:
            if self.outages.since is None or self.outages.allows(server):
                counts = [(granted, used) for granted, used in await connection.run_script(share, now)]
                if self.outages.since is not None:
                    self.note_answer(await connection.connect(), server)
                return counts
        except ERRORS as error:
            self.outages.note_failure(error, server)
        return self.consume_here(share, now)

    def consume_here(self, consumes: Sequence[Consume], now: int) -> list[Consumed]:
        fallbacks.inc(sum(consume.cost > 0 for consume in consumes))
        return self.fallback.consume(consumes, now)

    def note_answer(self, client: AnyClient, server: str) -> None:
        if isinstance(client, AnyCluster):
            self.outages.forget_all_but({node.name for node in client.get_primaries()})
        self.outages.note_success(server)

    def find_fault(self) -> Fault | None:
        """Inspect the servers. Returns None if they do not answer."""
        if not self.outages.allows():
            return None
        try:
            return find_topology_fault(self.address) or self.find_primary_fault(self.threads.client())
        except ERRORS as error:
            self.outages.note_failure(error)
            return None

    def find_primary_fault(self, client: Client) -> Fault | None:
        """Inspect all servers that count, and note which of them answer."""
        if not isinstance(client, RedisCluster):
            fault = find_fault_in(read_info(client))
            self.note_answer(client, "")
            return fault
        faults: list[Fault | None] = []
        for primary in client.get_primaries():
            try:
                faults.append(find_settings_fault(read_info(client.get_redis_connection(primary))))
            except (redis.ConnectionError, redis.TimeoutError) as error:
                self.outages.note_failure(error, primary.name)
            else:
                self.note_answer(client, primary.name)
        if len(faults) < len(client.get_primaries()):
            client.nodes_manager.initialize()  # a replica may have replaced a primary
        return next((fault for fault in faults if fault is not None), None)

    def forget_all(self) -> None:
        self.fallback.forget_all()
        client = self.threads.client()
        for key in client.scan_iter("limit:*"):
            client.delete(key)


def redis_key(bucket: str, part: str = "") -> str:
    """Return the key of a bucket or of its part. All parts of a bucket lie in one slot of a Cluster."""
    return f"limit:{{{bucket}}}:{part}" if part else f"limit:{{{bucket}}}"


def build_command(consumes: Sequence[Consume], now: int) -> tuple[str | int | bytes, ...]:
    """Return the command that counts them, with one argument: packing many takes longer than a round trip."""
    keys, buckets = [], []
    for consume in consumes:
        limits = []
        for window in consume.windows:
            keys.append(redis_key(consume.bucket, window.part))
            limits.append((NO_LIMIT if consume.is_meter else window.limit, window.seconds))
        buckets.append((consume.cost, consume.at or now, limits))
    return "EVAL", CONSUME, len(keys), *keys, msgpack.encode(buckets)


def divide(client: AnyCluster, consumes: Sequence[Consume]) -> Mapping[str, Sequence[Consume]]:
    """Return what each primary of a Cluster counts, by its name. Raises one of ERRORS if none has a bucket's slot."""
    shares: dict[str, list[Consume]] = defaultdict(list)
    for consume in consumes:
        node = client.get_node_from_key(redis_key(consume.bucket))
        shares["" if node is None else node.name].append(consume)
    return shares


class ThreadConnection:
    """Runs the script for threads. Its coroutines never suspend. `may_try` says whether a connection may succeed."""

    def __init__(self, address: RedisAddress, may_try: Callable[[], bool]) -> None:
        self.address, self.may_try = address, may_try
        self.lock = Lock()
        self.made: Client | None = None

    def client(self) -> Client:
        """Return the client. A Cluster's asks the nodes for their slots when it is made."""
        with self.lock:
            if self.made is None:
                if not self.may_try():  # another thread has just failed
                    raise redis.ConnectionError("no node answers")
                self.made = self.address.client()
            return self.made

    async def connect(self) -> Client:
        return self.client()

    @traced("EVAL limits", system="redis")
    async def run_script(self, consumes: Sequence[Consume], now: int) -> Sequence[Consumed]:
        """Run the script on the server of these buckets. Raises one of ERRORS.

        A Cluster runs it for each bucket. MOVED and ASK, which the client follows, have counted nothing.
        """
        client = self.client()
        calls = [[consume] for consume in consumes] if isinstance(client, RedisCluster) else [consumes]
        return [counted for call in calls for counted in client.execute_command(*build_command(call, now))]


class LoopConnection:
    """Runs the script for one event loop, which makes one call at a time."""

    def __init__(self, address: RedisAddress) -> None:
        self.client = address.async_client()
        self.kept: AbstractConnection | None = None  # to a single server or a primary
        self.seconds_to_wait: float | None = None

    async def connect(self) -> AsyncClient:
        return await self.client.initialize()

    @traced("EVAL limits", system="redis")
    async def run_script(self, consumes: Sequence[Consume], now: int) -> Sequence[Consumed]:
        """Do the same in one round trip."""
        if isinstance(self.client, AsyncRedisCluster):
            return await self.run_in_cluster(self.client, consumes, now)
        connection = await self.connected(self.client)
        command = cast("tuple[bytes]", build_command(consumes, now))  # hiredis' stub names a tuple of one
        try:
            async with asyncio.timeout(self.seconds_to_wait):
                await connection.send_packed_command(hiredis.pack_command(command), check_health=False)
                reply: Sequence[Consumed] = await connection.read_response()
                return reply
        except BaseException:
            await connection.disconnect(nowait=True)  # drop the pending reply
            raise

    async def connected(self, client: AsyncRedis) -> AbstractConnection:
        """Return the kept connection, made anew if the server has closed it.

        The client's own calls take twice as long: each takes a connection from the pool, with a timer for every step.
        """
        if self.kept is not None:
            if self.kept.is_connected and not await self.kept.can_read():
                return self.kept
            await self.kept.disconnect(nowait=True)
        connection = client.connection_pool.make_connection()
        await connection.connect()
        # The whole call has one timer, instead of one for sending and one for the reply.
        self.seconds_to_wait, connection.socket_timeout = connection.socket_timeout, None
        self.kept = connection
        return connection

    async def close(self) -> None:
        if self.kept is not None:
            await self.kept.disconnect()
        await self.client.aclose()

    async def run_in_cluster(
        self, client: AsyncRedisCluster, consumes: Sequence[Consume], now: int
    ) -> Sequence[Consumed]:
        pipeline = client.pipeline()
        for consume in consumes:
            pipeline.execute_command(*build_command([consume], now))
        try:
            replies = await pipeline.execute(raise_on_error=False)
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
        except ERRORS:
            # Unlike single commands, pipelines do not look for the replica that has replaced a primary.
            with suppress(*ERRORS):
                await client.nodes_manager.initialize()
            raise
        return [reply[0] for reply in replies]


Connection = ThreadConnection | LoopConnection
