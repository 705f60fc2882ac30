"""The script that counts limits in Redis, and how threads and the event loop run it by redis-py's clients."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any

import hiredis
import redis
from msgspec import msgpack
from redis.asyncio import Redis as AsyncRedis
from redis.asyncio import RedisCluster as AsyncRedisCluster
from redis.cluster import RedisCluster
from redis.exceptions import RedisClusterException

from accounts.limits.counters import Consumed
from accounts.limits.redis_address import RedisAddress
from accounts.limits.windows import MOST_AHEAD, Consume
from kit.telemetry.tracing import traced

NO_LIMIT = 2**53  # of a meter, for Lua's numbers
ERRORS = (redis.RedisError, RedisClusterException, OSError)

Client = redis.Redis | RedisCluster
AsyncClient = AsyncRedis | AsyncRedisCluster
AnyClient = Client | AsyncClient

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


def redis_key(bucket: str, part: str = "") -> str:
    """Return the key of a bucket or of its part. All parts of a bucket lie in one slot of a Cluster."""
    return f"limit:{{{bucket}}}:{part}" if part else f"limit:{{{bucket}}}"


def build_command(consumes: Sequence[Consume], now: int) -> tuple[Any, ...]:
    """Return the command that counts them, with one argument: packing many takes longer than a round trip."""
    keys = [redis_key(consume.bucket, window.part) for consume in consumes for window in consume.windows]
    buckets = []
    for consume in consumes:
        limits = [(NO_LIMIT if consume.is_meter else window.limit, window.seconds) for window in consume.windows]
        buckets.append((consume.cost, consume.moment(now), limits))
    return "EVAL", CONSUME, len(keys), *keys, msgpack.encode(buckets)


def read_reply(reply: Sequence[tuple[int, list[int]]]) -> list[Consumed]:
    """Read the script's reply."""
    return [(granted, counts) for granted, counts in reply]


def divide(client: AnyClient, consumes: Sequence[Consume]) -> Mapping[str, Sequence[Consume]]:
    """Return what each server counts: the primaries of a Cluster by their names, any other as "".

    Raises one of ERRORS if no primary has a bucket's slot.
    """
    if not isinstance(client, RedisCluster | AsyncRedisCluster):
        return {"": consumes}
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
    async def run_script(self, consumes: Sequence[Consume], now: int) -> list[Consumed]:
        """Run the script on the server of these buckets. Raises one of ERRORS.

        A Cluster runs it for each bucket. MOVED and ASK, which the client follows, have counted nothing.
        """
        client = self.client()
        calls = [[consume] for consume in consumes] if isinstance(client, RedisCluster) else [consumes]
        return [counted for call in calls for counted in read_reply(client.execute_command(*build_command(call, now)))]


class LoopConnection:
    """Runs the script for one event loop, which makes one call at a time."""

    def __init__(self, address: RedisAddress) -> None:
        self.client = address.async_client()

    async def connect(self) -> AsyncClient:
        return await self.client.initialize()

    @traced("EVAL limits", system="redis")
    async def run_script(self, consumes: Sequence[Consume], now: int) -> list[Consumed]:
        """Do the same in one round trip."""
        client = self.client
        if isinstance(client, AsyncRedisCluster):
            return await self.run_in_cluster(client, consumes, now)
        # The client's own call takes twice as long: it packs the command in Python.
        connection = await client.connection_pool.get_connection()
        try:
            await connection.send_packed_command(hiredis.pack_command(build_command(consumes, now)))
            return read_reply(await connection.read_response())
        finally:
            await client.connection_pool.release(connection)

    async def run_in_cluster(self, client: AsyncRedisCluster, consumes: Sequence[Consume], now: int) -> list[Consumed]:
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
        return [read_reply(reply)[0] for reply in replies]


Connection = ThreadConnection | LoopConnection
