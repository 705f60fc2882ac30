"""Plan limits: fixed windows counted atomically, in Redis across all processes or otherwise in this process."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import Lock

from django.conf import settings
from msgspec.structs import replace

from accounts.limits.events import note_use
from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_servers import Fault, RedisAddress
from accounts.limits.windows import Consumed, Group, Hit, LimitState, ProcessCounters

Counters = ProcessCounters | RedisCounters


class Limiter:
    """This process's limiter. It creates its counters on first use, after any fork."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Counters | None = None
        self.fault: Fault | None = None  # of Redis, when it was last inspected

    @property
    def counters(self) -> Counters:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    url = settings.REDIS_URL
                    self.made = RedisCounters(RedisAddress(url)) if url else ProcessCounters()
        return self.made

    def consume(self, hit: Hit) -> LimitState:
        """Count one request and return the state of its limit."""
        [state] = self.consume_many([hit])
        return state

    def consume_many(self, hits: Sequence[Hit]) -> list[LimitState]:
        """Count simultaneous requests; those with the same bucket and windows pass in the given order."""
        now, merged = int(time.time()), merge(hits)
        return build_states(hits, merged, self.counters.consume(list(merged.values()), now), now)

    def for_event_loop(self) -> Callable[[Sequence[Hit]], Awaitable[list[LimitState]]]:
        """Return `consume_many` for one event loop, which needs no threads for Redis."""
        client = RedisAddress(settings.REDIS_URL).client()

        async def consume_many(hits: Sequence[Hit]) -> list[LimitState]:
            counters, now = self.counters, int(time.time())
            if isinstance(counters, ProcessCounters):
                return self.consume_many(hits)
            merged = merge(hits)
            counted = await counters.count(client, list(merged.values()), now)
            return build_states(hits, merged, counted, now)

        return consume_many

    def known_here(self, hit: Hit) -> LimitState:
        """Return the limit as this process knows it, without counting and without waiting for Redis."""
        counters = self.counters.fallback if isinstance(self.counters, RedisCounters) else self.counters
        uncounted, now = [replace(hit, cost=0)], int(time.time())
        [state] = build_states(uncounted, merge(uncounted), counters.consume(uncounted, now), now)
        return state

    def look(self, hits: Sequence[Hit]) -> list[list[int]]:
        """Return the current counts of each consumer's windows, without counting."""
        uncounted = [replace(hit, cost=0) for hit in hits]
        return [used for _, used in self.counters.consume(uncounted, int(time.time()))]

    def inspect(self) -> None:
        """Connect to Redis, and see whether it counts limits as it should."""
        if isinstance(self.counters, RedisCounters):
            self.fault = self.counters.run(self.counters.find_fault())

    def state(self) -> str:
        """Describe where requests are currently counted, or what is wrong there, for the admin and /readyz."""
        if self.fault is not None:
            return self.fault.code
        if isinstance(self.counters, RedisCounters):
            return "redis" if self.counters.outages.since is None else "per process: Redis does not answer"
        return "this process"


def merge(hits: Sequence[Hit]) -> Mapping[Group, Hit]:
    """Merge those with the same bucket and windows, and add up their costs."""
    merged: dict[Group, Hit] = {}
    for hit in hits:
        group = hit.group
        first = merged.get(group)
        merged[group] = hit if first is None else replace(first, cost=first.cost + hit.cost)
    return merged


def build_states(
    hits: Sequence[Hit], merged: Mapping[Group, Hit], counted: Sequence[Consumed], now: int
) -> list[LimitState]:
    """Return the state of each limit, given the counts of its whole group."""
    by_group = dict(zip(merged, counted, strict=True))
    served = dict.fromkeys(by_group, 0)
    states = []
    for hit in hits:
        group = hit.group
        granted, before = by_group[group]
        if hit.is_meter:
            allowed = True
        elif hit.cost == 0:
            allowed = all(count <= window.limit for window, count in zip(hit.windows, before, strict=True))
        else:
            allowed = served[group] + hit.cost <= granted
        if allowed:
            served[group] += hit.cost
        used = [count + served[group] for count in before]
        state = LimitState.from_counts(hit.windows, used, hit.at or now, allowed=allowed)
        if state.is_near and hit.cost:
            note_use(hit, used, now)
        states.append(state)
    return states


limiter = Limiter()
