"""Plan limits: fixed windows counted atomically, in Redis across all processes or otherwise in this process."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from threading import Lock

from django.conf import settings
from msgspec.structs import replace

from accounts.limits.events import note_use
from accounts.limits.redis_counters import RedisCounters, connect
from accounts.limits.redis_servers import Fault, RedisAddress
from accounts.limits.windows import Consume, Consumed, Group, LimitState, ProcessCounters

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

    def consume(self, consume: Consume) -> LimitState:
        """Count one request and return the state of its limit."""
        [state] = self.consume_many([consume])
        return state

    def consume_many(self, consumes: Sequence[Consume]) -> list[LimitState]:
        """Count simultaneous requests; those with the same bucket and windows pass in the given order."""
        now, merged = int(time.time()), merge(consumes)
        return build_states(consumes, merged, self.counters.consume(list(merged.values()), now), now)

    def for_event_loop(self) -> Callable[[Sequence[Consume]], Awaitable[list[LimitState]]]:
        """Return `consume_many` for one event loop, which needs no threads for Redis."""
        connection = connect(RedisAddress(settings.REDIS_URL))

        async def consume_many(consumes: Sequence[Consume]) -> list[LimitState]:
            counters, now = self.counters, int(time.time())
            if isinstance(counters, ProcessCounters):
                return self.consume_many(consumes)
            merged = merge(consumes)
            counted = await counters.count(connection, list(merged.values()), now)
            return build_states(consumes, merged, counted, now)

        return consume_many

    def known_here(self, consume: Consume) -> LimitState:
        """Return the limit as this process knows it, without counting and without waiting for Redis."""
        counters = self.counters.fallback if isinstance(self.counters, RedisCounters) else self.counters
        uncounted, now = [replace(consume, cost=0)], int(time.time())
        [state] = build_states(uncounted, merge(uncounted), counters.consume(uncounted, now), now)
        return state

    def look(self, consumes: Sequence[Consume]) -> list[list[int]]:
        """Return the current counts of each consumer's windows, without counting."""
        uncounted = [replace(consume, cost=0) for consume in consumes]
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


def merge(consumes: Sequence[Consume]) -> Mapping[Group, Consume]:
    """Merge those with the same bucket and windows, and add up their costs."""
    merged: dict[Group, Consume] = {}
    for consume in consumes:
        group = consume.group
        first = merged.get(group)
        merged[group] = consume if first is None else replace(first, cost=first.cost + consume.cost)
    return merged


def build_states(
    consumes: Sequence[Consume], merged: Mapping[Group, Consume], counted: Sequence[Consumed], now: int
) -> list[LimitState]:
    """Return the state of each limit, given the counts of its whole group."""
    by_group = dict(zip(merged, counted, strict=True))
    served = dict.fromkeys(by_group, 0)
    states = []
    for consume in consumes:
        group = consume.group
        granted, before = by_group[group]
        if consume.is_meter:
            allowed = True
        elif consume.cost == 0:
            allowed = all(count <= window.limit for window, count in zip(consume.windows, before, strict=True))
        else:
            allowed = served[group] + consume.cost <= granted
        if allowed:
            served[group] += consume.cost
        used = [count + served[group] for count in before]
        state = LimitState.from_counts(consume.windows, used, consume.at or now, allowed=allowed)
        if state.is_near and consume.cost:
            note_use(consume, used, now)
        states.append(state)
    return states


limiter = Limiter()
