"""Plan limits: fixed windows counted atomically, in Redis across all processes or otherwise in this process.

A caller has a bucket, and a bucket has windows (the UTC minute and day). A request passes if every window has room,
and then counts in all. A rejected request costs nothing.
"""

import logging
import time
from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

import redis
from django.conf import settings
from hiredis import pack_command
from msgspec.structs import replace
from prometheus_client import Counter

from accounts.limits.reached import EDGE, PLAN, note_plan
from accounts.limits.windows import MINUTE, Consume, LimitState
from kit.telemetry.tracing import traced

logger = logging.getLogger(__name__)
RETRY_REDIS_AFTER = 1.0  # seconds

fallbacks = Counter("licensing_limiter_fallbacks", "Requests counted per process because Redis did not answer.")


ACCOUNT = "account:"  # prefix of plan buckets; the account id follows
AT_EDGE = "edge:"  # prefix of the plan's meter at the edge
SCOPES = {ACCOUNT: PLAN, AT_EDGE: EDGE}
NO_LIMIT = 2**53  # of a meter, for Lua's numbers


def note(consume: Consume, used: Sequence[int], now: int) -> None:
    """Queue an event if a plan is nearly used up. Requests without a key have no plan."""
    kind, colon, account_id = consume.bucket.partition(":")
    if (scope := SCOPES.get(kind + colon)) is not None:
        for window, count in zip(consume.windows, used, strict=True):
            if count * 5 >= window.limit * 4:
                note_plan(scope, account_id, window.seconds, window.limit, count, now)


# The number of granted requests, and each window's count before.
Consumed = tuple[int, list[int]]


class Counters(Protocol):
    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        """Grant each consumer as much of its cost as all its windows allow, and count it in all of them."""

    def forget_all(self) -> None: ...


class ProcessCounters:
    """Counts in this process, shared by its threads."""

    MAX_BUCKETS = 100_000  # beyond this, expired buckets are dropped; beyond ten times this, all anonymous ones

    def __init__(self) -> None:
        self.lock = Lock()
        self.tidied_in = 0  # the minute of the last cleanup, which is too slow for every request
        self.buckets: dict[tuple[str, int], tuple[int, int]] = {}  # (bucket, seconds) → (window number, count)

    def consume(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        with self.lock:
            if len(self.buckets) > self.MAX_BUCKETS and now // MINUTE != self.tidied_in:
                self.tidy(now)
            return [self.consume_one(consume, now) for consume in wanted]

    def tidy(self, now: int) -> None:
        self.tidied_in = now // MINUTE
        self.buckets = {key: kept for key, kept in self.buckets.items() if kept[0] >= now // key[1]}
        if len(self.buckets) > 10 * self.MAX_BUCKETS:
            self.buckets = {key: kept for key, kept in self.buckets.items() if not key[0].startswith("address:")}

    def consume_one(self, consume: Consume, now: int) -> Consumed:
        numbers, used = [], []
        for window in consume.windows:
            number, count = self.buckets.get((consume.bucket, window.seconds), (0, 0))
            begun = now // window.seconds > number
            numbers.append(now // window.seconds if begun else number)
            used.append(0 if begun else count)
        room = min(consume.room(window, count) for window, count in zip(consume.windows, used, strict=True))
        granted = max(min(consume.cost, room), 0)
        if granted:
            for window, number, count in zip(consume.windows, numbers, used, strict=True):
                self.buckets[consume.bucket, window.seconds] = (number, count + granted)
        return granted, used

    def forget_all(self) -> None:
        with self.lock:
            self.buckets = {}


# One hash per bucket. Windows only move forward, so that a process with a late clock cannot reopen an old one.
CONSUME = """
local cost, now, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), 0
local numbers, reply, granted = {}, {}, cost
for i = 3, #ARGV, 2 do
  local limit, seconds = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local kept = redis.call('HMGET', KEYS[1], 'n' .. seconds, 'c' .. seconds)
  local number, used = math.floor(now / seconds), 0
  if kept[1] and tonumber(kept[1]) >= number then
    number, used = tonumber(kept[1]), tonumber(kept[2])
  end
  granted = math.max(math.min(granted, limit - used), 0)
  longest = math.max(longest, seconds)
  table.insert(numbers, number)
  table.insert(reply, used)
end
if granted > 0 then
  for i = 1, #numbers do
    local seconds = ARGV[2 + 2 * i]
    local number, used = string.format('%d', numbers[i]), string.format('%d', reply[i] + granted)
    redis.call('HSET', KEYS[1], 'n' .. seconds, number, 'c' .. seconds, used)
  end
  redis.call('EXPIRE', KEYS[1], longest * 2)
end
table.insert(reply, 1, granted)
return reply
"""


class RedisCounters:
    """Counts in Redis, in one round trip per call; falls back to this process while Redis is down."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client
        self.fallback = ProcessCounters()
        self.away_since: float | None = None
        self.retry_at = 0.0

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

    def consume_here(self, wanted: Sequence[Consume], now: int) -> list[Consumed]:
        fallbacks.inc(sum(consume.cost > 0 for consume in wanted))
        return self.fallback.consume(wanted, now)

    def worth_asking(self) -> bool:
        """Whether to try Redis: not within RETRY_REDIS_AFTER of a failure, so that requests do not wait for a dead
        server.
        """
        return time.monotonic() >= self.retry_at

    def note_failure(self, error: Exception) -> None:
        self.retry_at = time.monotonic() + RETRY_REDIS_AFTER
        if self.away_since is None:
            self.away_since = time.monotonic()
            reason = str(error) or type(error).__name__
            logger.warning("Redis does not answer (%s): limits hold per process until it returns", reason)

    def note_success(self) -> None:
        if self.away_since is not None:
            logger.warning("Redis is back after %.0f s", time.monotonic() - self.away_since)
            self.away_since = None

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


def key_of(consume: Consume) -> str:
    return f"limit:{{{consume.bucket}}}"


def command(consume: Consume, now: int) -> tuple[Any, ...]:
    windows = [
        number
        for window in consume.windows
        for number in (NO_LIMIT if consume.is_meter else window.limit, window.seconds)
    ]
    return "EVAL", CONSUME, 1, key_of(consume), consume.cost, now, *windows


class Limiter:
    """This process's limiter. It creates its counters on first use, after any fork."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Counters | None = None

    @property
    def counters(self) -> Counters:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    self.made = self.make()
        return self.made

    def make(self) -> Counters:
        if not settings.REDIS_URL:
            return ProcessCounters()
        from django_redis import get_redis_connection  # noqa: PLC0415 - only where Redis is configured

        return RedisCounters(get_redis_connection("default"))

    def consume(self, consume: Consume) -> LimitState:
        """Count one request and return the state of its limit."""
        [state] = self.consume_many([consume])
        return state

    def known_here(self, consume: Consume) -> LimitState:
        """Return the limit as this process knows it, without counting and without waiting for Redis."""
        counters = self.counters.fallback if isinstance(self.counters, RedisCounters) else self.counters
        uncounted, now = [replace(consume, cost=0)], int(time.time())
        [state] = self.states(uncounted, uncounted, counters.consume(uncounted, now), now)
        return state

    def consume_many(self, wanted: Sequence[Consume]) -> list[LimitState]:
        """Count simultaneous requests; those of one bucket pass in the given order."""
        now = int(time.time())
        together = self.together(wanted)
        return self.states(wanted, together, self.counters.consume(together, now), now)

    def look(self, wanted: Sequence[Consume]) -> list[list[int]]:
        """Return the current counts of each consumer's windows, without counting."""
        return [
            used
            for _, used in self.counters.consume([replace(consume, cost=0) for consume in wanted], int(time.time()))
        ]

    @staticmethod
    def together(wanted: Sequence[Consume]) -> list[Consume]:
        """Merge the consumers of each bucket and add up their costs."""
        if len(wanted) == 1:
            return list(wanted)
        costs: dict[str, int] = {}
        first: dict[str, Consume] = {}
        for consume in wanted:
            costs[consume.bucket] = costs.get(consume.bucket, 0) + consume.cost
            first.setdefault(consume.bucket, consume)
        return [replace(consume, cost=costs[bucket]) for bucket, consume in first.items()]

    @staticmethod
    def states(
        wanted: Sequence[Consume], together: Sequence[Consume], consumed: Sequence[Consumed], now: int
    ) -> list[LimitState]:
        """Return the state for each of `wanted`, given the counts of its whole bucket."""
        of = {consume.bucket: one for consume, one in zip(together, consumed, strict=True)}
        served = dict.fromkeys(of, 0)
        states = []
        for consume in wanted:
            granted, before = of[consume.bucket]
            if consume.is_meter:
                allowed = True
            elif consume.cost == 0:
                allowed = all(count <= window.limit for window, count in zip(consume.windows, before, strict=True))
            else:
                allowed = served[consume.bucket] + consume.cost <= granted
            if allowed:
                served[consume.bucket] += consume.cost
            used = [count + served[consume.bucket] for count in before]
            state = LimitState.of(consume.windows, used, now, allowed=allowed)
            if state.is_near and consume.cost:
                note(consume, used, now)
            states.append(state)
        return states

    def state(self) -> str:
        """Describe where requests are currently counted, for the admin and /readyz."""
        if isinstance(self.counters, RedisCounters):
            return "redis" if self.counters.away_since is None else "per process: Redis does not answer"
        return "this process"

    def forget_all(self) -> None:
        """Reset all counts, for tests."""
        self.counters.forget_all()


limiter = Limiter()
