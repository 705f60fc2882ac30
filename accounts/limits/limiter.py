"""Plan limits: fixed windows counted atomically, in Redis across all processes or otherwise in this process."""

import time
from collections.abc import Sequence
from threading import Lock

from django.conf import settings
from msgspec.structs import replace

from accounts.limits.counters import Consumed, ProcessCounters
from accounts.limits.events import note_use
from accounts.limits.redis_address import RedisAddress
from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_faults import Fault
from accounts.limits.windows import Consume, Group, LimitState

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
                    self.made = self.make()
        return self.made

    @staticmethod
    def make() -> Counters:
        return RedisCounters(RedisAddress(settings.REDIS_URL)) if settings.REDIS_URL else ProcessCounters()

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
        """Count simultaneous requests; those with the same bucket and windows pass in the given order."""
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
        """Merge the consumers with the same bucket and windows, and add up their costs."""
        if len(wanted) == 1:
            return list(wanted)
        costs: dict[Group, int] = {}
        first: dict[Group, Consume] = {}
        for consume in wanted:
            group = consume.group
            costs[group] = costs.get(group, 0) + consume.cost
            first.setdefault(group, consume)
        return [replace(consume, cost=costs[group]) for group, consume in first.items()]

    @staticmethod
    def states(
        wanted: Sequence[Consume], together: Sequence[Consume], consumed: Sequence[Consumed], now: int
    ) -> list[LimitState]:
        """Return the state for each of `wanted`, given the counts of its whole group."""
        of = {consume.group: one for consume, one in zip(together, consumed, strict=True)}
        served = dict.fromkeys(of, 0)
        states = []
        for consume in wanted:
            group = consume.group
            granted, before = of[group]
            if consume.is_meter:
                allowed = True
            elif consume.cost == 0:
                allowed = all(count <= window.limit for window, count in zip(consume.windows, before, strict=True))
            else:
                allowed = served[group] + consume.cost <= granted
            if allowed:
                served[group] += consume.cost
            used = [count + served[group] for count in before]
            state = LimitState.of(consume.windows, used, consume.moment(now), allowed=allowed)
            if state.is_near and consume.cost:
                note_use(consume, used, now)
            states.append(state)
        return states

    def inspect(self) -> None:
        """Connect to Redis, and see whether it counts limits as it should."""
        if isinstance(self.counters, RedisCounters):
            self.fault = self.counters.find_fault()

    def state(self) -> str:
        """Describe where requests are currently counted, or what is wrong there, for the admin and /readyz."""
        if self.fault is not None:
            return self.fault.code
        if isinstance(self.counters, RedisCounters):
            return "redis" if self.counters.outages.since is None else "per process: Redis does not answer"
        return "this process"

    def forget_all(self) -> None:
        """Reset all counts, for tests."""
        self.counters.forget_all()


class AsyncLimiter:
    """The limiter on one event loop, which needs no threads for Redis."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.client = RedisAddress(settings.REDIS_URL).async_client()

    async def consume_many(self, wanted: Sequence[Consume]) -> list[LimitState]:
        """Count like Limiter.consume_many, in one round trip."""
        counters, now = self.limiter.counters, int(time.time())
        if not isinstance(counters, RedisCounters):
            return self.limiter.consume_many(wanted)
        together = self.limiter.together(wanted)
        consumed = await counters.consume_on_loop(self.client, together, now)
        return self.limiter.states(wanted, together, consumed, now)


limiter = Limiter()
