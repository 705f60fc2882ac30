"""Counters in Redis, which all processes share."""

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any

import redis
from hiredis import pack_command
from prometheus_client import Counter
from redis.exceptions import RedisClusterException

from accounts.limits.counters import Consumed, ProcessCounters
from accounts.limits.redis_address import RedisAddress
from accounts.limits.redis_faults import Fault, find_fault
from accounts.limits.windows import MOST_AHEAD, Consume
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
RETRY_REDIS_AFTER = 1.0  # seconds
NO_LIMIT = 2**53  # of a meter, for Lua's numbers

ERRORS = (redis.RedisError, RedisClusterException, OSError)

fallbacks = Counter("licensing_limiter_fallbacks", "Requests counted per process because Redis did not answer.")

# One hash per part of a bucket. KEYS[i] is the hash of the window ARGV[2i + 1], ARGV[2i + 2]; windows may share one.
CONSUME = """
local cost, now, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), {}
local numbers, reply, granted = {}, {}, cost
for i, key in ipairs(KEYS) do
  local limit, seconds = tonumber(ARGV[2 * i + 1]), tonumber(ARGV[2 * i + 2])
  local kept = redis.call('HMGET', key, 'n' .. seconds, 'c' .. seconds)
  local number, used = math.floor(now / seconds), 0
  local former = tonumber(kept[1] or 0)
  if former >= number and former * seconds <= now + MOST_AHEAD then
    number, used = former, tonumber(kept[2])
  end
  granted = math.max(math.min(granted, limit - used), 0)
  longest[key] = math.max(longest[key] or 0, seconds)
  table.insert(numbers, number)
  table.insert(reply, used)
end
if granted > 0 then
  for i, key in ipairs(KEYS) do
    local seconds = ARGV[2 * i + 2]
    local number, used = string.format('%d', numbers[i]), string.format('%d', reply[i] + granted)
    redis.call('HSET', key, 'n' .. seconds, number, 'c' .. seconds, used)
  end
  for key, seconds in pairs(longest) do
    redis.call('EXPIRE', key, seconds * 2)
  end
end
table.insert(reply, 1, granted)
return reply
""".replace("MOST_AHEAD", str(MOST_AHEAD))


class Outages:
    """Which servers do not answer. Each has a name; a single server's is empty."""

    def __init__(self) -> None:
        self.retry_at: dict[str, float] = {}  # of the servers that failed last time
        self.since: float | None = None

    def allows(self, server: str) -> bool:
        """Whether to ask the server: not within RETRY_REDIS_AFTER of a failure, so that requests do not wait for a
        dead one.
        """
        return time.monotonic() >= self.retry_at.get(server, 0.0)

    def note_failure(self, error: Exception, server: str) -> None:
        self.retry_at[server] = time.monotonic() + RETRY_REDIS_AFTER
        if self.since is None:
            self.since = time.monotonic()
            # Sentinel's errors go on with the whole client.
            reason = str(error).partition(" : ")[0] or type(error).__name__
            logger.warning("Redis does not answer (%s): limits hold per process until it returns", reason)

    def note_success(self, server: str) -> None:
        if self.since is not None:
            self.retry_at.pop(server, None)
            if not self.retry_at:
                logger.warning("Redis is back after %.0f s", time.monotonic() - self.since)
                self.since = None

    def forget_all_but(self, servers: Collection[str]) -> None:
        """Forget the servers that a failover has replaced."""
        self.retry_at = {server: at for server, at in self.retry_at.items() if server in servers}


class SharedCounters(ABC):
    """Counts in Redis; falls back to this process while Redis is down."""

    def __init__(self, address: RedisAddress) -> None:
        self.address = address
        self.fallback = ProcessCounters()
        self.outages = Outages()

    @abstractmethod
    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]: ...

    @abstractmethod
    def inspect(self) -> Fault | None:
        """Return the servers' fault. Raises one of ERRORS if they do not answer."""

    @abstractmethod
    def forget_all(self) -> None: ...

    def find_fault(self) -> Fault | None:
        """Inspect the servers. Returns None if they do not answer."""
        if not self.worth_asking():
            return None
        try:
            fault = self.inspect()
        except ERRORS as error:
            self.note_failure(error)
            return None
        self.note_success()
        return fault

    def consume_here(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        fallbacks.inc(sum(consume.cost > 0 for consume in wanted))
        return self.fallback.consume(wanted, now)

    def worth_asking(self, server: str = "") -> bool:
        return self.outages.allows(server)

    def note_failure(self, error: Exception, server: str = "") -> None:
        self.outages.note_failure(error, server)

    def note_success(self, server: str = "") -> None:
        self.outages.note_success(server)


class RedisCounters(SharedCounters):
    """Counts on one server, or the primary that Sentinels name, in one round trip per call."""

    def __init__(self, address: RedisAddress) -> None:
        super().__init__(address)
        self.client = address.client()

    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        if self.worth_asking():
            try:
                replies = self.ask(wanted, now)
            except redis.RedisError as error:
                self.note_failure(error)
            else:
                self.note_success()
                return [(granted, used) for granted, *used in replies]
        return self.consume_here(wanted, now)

    def inspect(self) -> Fault | None:
        return find_fault(self.address, self.client)

    @traced("EVAL limits", system="redis")
    def ask(self, wanted: Sequence[Consume], now: int) -> list[list[int]]:
        """Run the script on a pooled connection. redis-py's client takes four times as long and may retry after a
        failure, which would count twice.
        """
        connection = self.client.connection_pool.get_connection()
        try:
            packed = [pack_command(command(one, now)) for one in wanted]
            connection.send_packed_command([b"".join(packed)])
            return [connection.read_response() for _ in wanted]
        except BaseException:
            connection.disconnect()  # drop the pending reply
            raise
        finally:
            self.client.connection_pool.release(connection)

    def forget_all(self) -> None:
        self.fallback.forget_all()
        for key in self.client.scan_iter("limit:*"):
            self.client.delete(key)


def key_of(bucket: str, part: str = "") -> str:
    """Return the key of a bucket or of its part. All parts of a bucket lie in one slot of a Cluster."""
    return f"limit:{{{bucket}}}:{part}" if part else f"limit:{{{bucket}}}"


def command(consume: Consume, now: int) -> tuple[Any, ...]:
    keys: list[str] = []
    limits: list[int] = []
    for window in consume.windows:
        keys.append(key_of(consume.bucket, window.part))
        limits += [NO_LIMIT if consume.is_meter else window.limit, window.seconds]
    return "EVAL", CONSUME, len(keys), *keys, consume.cost, consume.moment(now), *limits
