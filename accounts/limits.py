"""Plan limits: fixed windows, counted atomically over all processes in Redis, or in this process without one.

A caller has a bucket, a bucket has windows (the UTC minute and the UTC day), and a request passes if every window has
room; then each counts it. A refused request consumes nothing.
"""

import logging
import time
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import redis
from django.conf import settings
from prometheus_client import Counter

logger = logging.getLogger(__name__)

MINUTE, DAY = 60, 86_400
RETRY_REDIS_AFTER = 1.0  # seconds

fallbacks = Counter("limiter_fallbacks", "Requests counted per process because Redis did not answer.")


@dataclass(frozen=True, slots=True)
class Window:
    """`limit` requests in each span of `seconds`, aligned to the Unix epoch (so a day is a UTC day)."""

    limit: int
    seconds: int


@dataclass(frozen=True, slots=True)
class LimitState:
    """What the rate-limit headers say: of the window that has the least left."""

    allowed: bool
    limit: int
    remaining: int
    reset: int  # Unix seconds
    retry_after: int | None  # seconds, if refused

    @classmethod
    def of(cls, windows: tuple[Window, ...], used: list[int], now: int, *, allowed: bool) -> "LimitState":
        left = [(max(window.limit - count, 0), window) for window, count in zip(windows, used, strict=True)]
        # Of two that are used up, the longer one says when to come back.
        remaining, window = min(left, key=lambda pair: (pair[0], -pair[1].seconds))
        reset = (now // window.seconds + 1) * window.seconds
        return cls(allowed, window.limit, remaining, reset, None if allowed else max(reset - now, 1))


class Counters(Protocol):
    def take(self, bucket: str, windows: tuple[Window, ...], cost: int, now: int) -> tuple[bool, list[int]]:
        """Counts `cost` in every window if all have room; says whether, and what each has counted since."""

    def forget_all(self) -> None: ...


class ProcessCounters:
    """Counts in this process: exact over its threads."""

    MAX_BUCKETS = 100_000

    def __init__(self) -> None:
        self.lock = Lock()
        self.buckets: dict[tuple[str, int], tuple[int, int]] = {}  # (bucket, seconds) → (window number, count)

    def take(self, bucket: str, windows: tuple[Window, ...], cost: int, now: int) -> tuple[bool, list[int]]:
        with self.lock:
            if len(self.buckets) > self.MAX_BUCKETS:
                self.forget_past(now)
            current = []
            for window in windows:
                number, count = self.buckets.get((bucket, window.seconds), (0, 0))
                elapsed = now // window.seconds > number
                current.append((now // window.seconds, 0) if elapsed else (number, count))
            allowed = all(
                count + cost <= window.limit for window, (_, count) in zip(windows, current, strict=True)
            )
            if allowed and cost:
                for window, (number, count) in zip(windows, current, strict=True):
                    self.buckets[bucket, window.seconds] = (number, count + cost)
            return allowed, [count + cost * allowed for _, count in current]

    def forget_all(self) -> None:
        with self.lock:
            self.buckets = {}

    def forget_past(self, now: int) -> None:
        self.buckets = {key: entry for key, entry in self.buckets.items() if entry[0] >= now // key[1]}


# One hash per bucket. A window only ever moves forward, so that a process whose clock lags cannot open an old one.
TAKE = """
local cost, now = tonumber(ARGV[1]), tonumber(ARGV[2])
local numbers, counts, allowed, longest = {}, {}, 1, 0
for i = 3, #ARGV, 2 do
  local limit, seconds = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local kept = redis.call('HMGET', KEYS[1], 'n' .. seconds, 'c' .. seconds)
  local number, count = math.floor(now / seconds), 0
  if kept[1] and tonumber(kept[1]) >= number then
    number, count = tonumber(kept[1]), tonumber(kept[2])
  end
  if count + cost > limit then allowed = 0 end
  longest = math.max(longest, seconds)
  table.insert(numbers, number)
  table.insert(counts, count)
end
if allowed == 1 and cost > 0 then
  for i = 1, #counts do
    local seconds = ARGV[2 + 2 * i]
    counts[i] = counts[i] + cost
    redis.call('HSET', KEYS[1], 'n' .. seconds, string.format('%d', numbers[i]), 'c' .. seconds, counts[i])
  end
  redis.call('EXPIRE', KEYS[1], longest * 2)
end
table.insert(counts, 1, allowed)
return counts
"""


class RedisCounters:
    """Counts in Redis, in one round trip; while Redis is away, in this process."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.script = client.register_script(TAKE)
        self.fallback = ProcessCounters()
        self.away_since: float | None = None
        self.retry_at = 0.0

    def take(self, bucket: str, windows: tuple[Window, ...], cost: int, now: int) -> tuple[bool, list[int]]:
        if time.monotonic() >= self.retry_at:
            try:
                arguments = [cost, now, *(number for window in windows for number in (window.limit, window.seconds))]
                allowed, *used = self.script(keys=[f"limit:{{{bucket}}}"], args=arguments)
            except redis.RedisError as error:
                self.retry_at = time.monotonic() + RETRY_REDIS_AFTER
                if self.away_since is None:
                    self.away_since = time.monotonic()
                    logger.error("Redis does not answer (%s): limits hold per process until it returns", error)
            else:
                if self.away_since is not None:
                    logger.warning("Redis is back after %.0f s", time.monotonic() - self.away_since)
                    self.away_since = None
                return bool(allowed), used
        fallbacks.inc()
        return self.fallback.take(bucket, windows, cost, now)


    def forget_all(self) -> None:
        self.fallback.forget_all()
        for key in self.client.scan_iter("limit:*"):
            self.client.delete(key)


class Limiter:
    """The limiter of this process; its counters are made at the first use, after any fork."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.counters: Counters | None = None

    def take(self, bucket: str, windows: tuple[Window, ...], *, cost: int = 1) -> LimitState:
        """Counts a request; with `cost=0` only looks."""
        counters = self.counters or self.connect()
        now = int(time.time())
        allowed, used = counters.take(bucket, windows, cost, now)
        return LimitState.of(windows, used, now, allowed=allowed)

    def forget_all(self) -> None:
        """Begins all counts at zero, for tests."""
        (self.counters or self.connect()).forget_all()

    def state(self) -> str:
        """Where requests are counted at the moment."""
        counters = self.counters or self.connect()
        if isinstance(counters, RedisCounters):
            return "redis" if counters.away_since is None else "per process: Redis does not answer"
        return "this process"

    def connect(self) -> Counters:
        with self.lock:
            if self.counters is None:
                if settings.REDIS_URL:
                    from django_redis import get_redis_connection

                    self.counters = RedisCounters(get_redis_connection("default"))
                else:
                    self.counters = ProcessCounters()
            return self.counters


limiter = Limiter()
