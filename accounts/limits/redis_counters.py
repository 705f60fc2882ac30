"""Counters in Redis, which all processes share: one script for threads and the event loop, in all topologies."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import hiredis
import redis
from msgspec import msgpack
from prometheus_client import Counter
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from accounts.limits.counters import Consumed, ProcessCounters
from accounts.limits.redis_address import RedisAddress
from accounts.limits.redis_faults import Fault, fault_of_server, fault_of_settings, fault_of_topology, info_of
from accounts.limits.windows import MOST_AHEAD, Consume, Group
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
RETRY_REDIS_AFTER = 1.0  # seconds
NO_LIMIT = 2**53  # of a meter, for Lua's numbers
ERRORS = (redis.RedisError, RedisClusterException, OSError)

Client = redis.Redis | RedisCluster
AsyncClient = AsyncRedis | AsyncRedisCluster
AnyClient = Client | AsyncClient
Answer = Consumed | Exception
Shares = Mapping[str, Sequence[Consume]]  # what each server counts
Answers = Mapping[str, Sequence[Answer]]  # of the servers that were asked

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
        self.lock = Lock()
        self.connected: Client | None = None

    def connect(self) -> Client:
        """Return the client. A Cluster's asks the nodes for their slots when it is made."""
        with self.lock:
            if self.connected is None:
                if not self.outages.allows():  # another thread has just tried
                    raise redis.ConnectionError("no node answers")
                self.connected = self.address.client()
            return self.connected

    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        """Count for a thread."""
        if not self.outages.allows():
            return self.consume_here(wanted, now)
        try:
            client = self.connect()
            shares = divide(client, wanted)
        except ERRORS as error:
            self.outages.note_failure(error)
            return self.consume_here(wanted, now)
        answers = {server: ask(client, share, now) for server, share in self.allowed(shares).items()}
        return self.settle(client, wanted, shares, answers, now)

    async def consume_on_loop(self, client: AsyncClient, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        """Count for the client's event loop, which makes one call at a time."""
        if not self.outages.allows():
            return self.consume_here(wanted, now)
        try:
            await client.initialize()
            shares = divide(client, wanted)
        except ERRORS as error:
            self.outages.note_failure(error)
            return self.consume_here(wanted, now)
        allowed = self.allowed(shares)
        calls = [ask_on_loop(client, share, now) for share in allowed.values()]
        results = [await calls[0]] if len(calls) == 1 else await asyncio.gather(*calls)
        answers = dict(zip(allowed, results, strict=True))
        if isinstance(client, AsyncRedisCluster) and any(map(error_in, answers.values())):
            # Unlike single commands, pipelines do not look for the replica that has replaced a primary.
            with suppress(*ERRORS):
                await client.nodes_manager.initialize()
        return self.settle(client, wanted, shares, answers, now)

    def consume_here(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        fallbacks.inc(sum(consume.cost > 0 for consume in wanted))
        return self.fallback.consume(wanted, now)

    def allowed(self, shares: Shares) -> Shares:
        """Return the shares of the servers to ask."""
        return {server: share for server, share in shares.items() if self.outages.allows(server)}

    def settle(
        self, client: AnyClient, wanted: Sequence[Consume], shares: Shares, answers: Answers, now: int
    ) -> list[Consumed]:
        """Return the counts in the order of `wanted`. Notes outages, and counts here what was not counted there."""
        counted: dict[Group, Consumed] = {}
        for server, share in shares.items():
            if server in answers:
                counts = self.counts_of(share, answers[server], now)
                self.note(client, server, error_in(answers[server]))
            else:
                counts = self.consume_here(share, now)
            if len(shares) == 1:
                return counts
            counted.update(zip([consume.group for consume in share], counts, strict=True))
        return [counted[consume.group] for consume in wanted]

    def counts_of(self, share: Sequence[Consume], answers: Sequence[Answer], now: int) -> list[Consumed]:
        return [
            self.consume_here([consume], now)[0] if isinstance(answer, Exception) else answer
            for consume, answer in zip(share, answers, strict=True)
        ]

    def note(self, client: AnyClient, server: str, error: Exception | None) -> None:
        """Note whether the server has answered."""
        if error is not None:
            self.outages.note_failure(error, server)
        elif self.outages.since is not None:
            if isinstance(client, RedisCluster | AsyncRedisCluster):
                self.outages.forget_all_but({node.name for node in client.get_primaries()})
            self.outages.note_success(server)

    def find_fault(self) -> Fault | None:
        """Inspect the servers. Returns None if they do not answer."""
        if not self.outages.allows():
            return None
        try:
            return fault_of_topology(self.address) or self.fault_of_primaries(self.connect())
        except ERRORS as error:
            self.outages.note_failure(error)
            return None

    def fault_of_primaries(self, client: Client) -> Fault | None:
        """Inspect all servers that count, and note which of them answer."""
        if not isinstance(client, RedisCluster):
            fault = fault_of_server(client)
            self.note(client, "", None)
            return fault
        faults: list[Fault | None] = []
        for primary in client.get_primaries():
            error: Exception | None = None
            try:
                faults.append(fault_of_settings(info_of(client.get_redis_connection(primary))))
            except (redis.ConnectionError, redis.TimeoutError) as failure:
                error = failure
            self.note(client, primary.name, error)
        if len(faults) < len(client.get_primaries()):
            client.nodes_manager.initialize()  # a replica may have replaced a primary
        return next((fault for fault in faults if fault is not None), None)

    def forget_all(self) -> None:
        self.fallback.forget_all()
        client = self.connect()
        for key in client.scan_iter("limit:*"):
            client.delete(key)


def divide(client: AnyClient, wanted: Sequence[Consume]) -> Shares:
    """Divide what is wanted among the servers. Raises one of ERRORS if no primary has a bucket's slot."""
    if not isinstance(client, RedisCluster | AsyncRedisCluster):
        return {"": wanted}
    shares: dict[str, list[Consume]] = defaultdict(list)
    for consume in wanted:
        node = client.get_node_from_key(key_of(consume.bucket))
        shares["" if node is None else node.name].append(consume)
    return shares


def error_in(answers: Sequence[Answer]) -> Exception | None:
    return next((answer for answer in answers if isinstance(answer, Exception)), None)


@traced("EVAL limits", system="redis")
def ask(client: Client, consumes: Sequence[Consume], now: int) -> Sequence[Answer]:
    """Run the script, in a Cluster once for each bucket. MOVED and ASK, which it follows, have counted nothing."""
    calls = [[consume] for consume in consumes] if isinstance(client, RedisCluster) else [consumes]
    answers: list[Answer] = []
    try:
        for call in calls:
            answers += read(client.execute_command(*command(call, now)))
    except ERRORS as error:
        answers += [error] * (len(consumes) - len(answers))
    return answers


@traced("EVAL limits", system="redis")
async def ask_on_loop(client: AsyncClient, consumes: Sequence[Consume], now: int) -> Sequence[Answer]:
    """Run the script like `ask`, in one round trip."""
    try:
        if isinstance(client, AsyncRedisCluster):
            pipeline = client.pipeline()
            for consume in consumes:
                pipeline.execute_command(*command([consume], now))
            replies = await pipeline.execute(raise_on_error=False)
            return [reply if isinstance(reply, Exception) else read(reply)[0] for reply in replies]
        # The client's own call takes twice as long: it packs the command in Python.
        connection = await client.connection_pool.get_connection()
        try:
            await connection.send_packed_command(hiredis.pack_command(command(consumes, now)))
            return read(await connection.read_response())
        finally:
            await client.connection_pool.release(connection)
    except ERRORS as error:
        return [error] * len(consumes)


def key_of(bucket: str, part: str = "") -> str:
    """Return the key of a bucket or of its part. All parts of a bucket lie in one slot of a Cluster."""
    return f"limit:{{{bucket}}}:{part}" if part else f"limit:{{{bucket}}}"


def command(consumes: Sequence[Consume], now: int) -> tuple[Any, ...]:
    """Return the command that counts them, with one argument: packing many takes longer than a round trip."""
    keys = [key_of(consume.bucket, window.part) for consume in consumes for window in consume.windows]
    buckets = []
    for consume in consumes:
        limits = [(NO_LIMIT if consume.is_meter else window.limit, window.seconds) for window in consume.windows]
        buckets.append((consume.cost, consume.moment(now), limits))
    return "EVAL", CONSUME, len(keys), *keys, msgpack.encode(buckets)


def read(reply: Sequence[tuple[int, list[int]]]) -> list[Consumed]:
    """Read the script's reply."""
    return [(granted, counts) for granted, counts in reply]
