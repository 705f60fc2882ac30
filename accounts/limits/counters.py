"""Counters of limits in one process.

A caller has a bucket, and a bucket has windows (the UTC minute and day), some of them in parts of the bucket. A
request passes if every window has room, and then counts in all. A rejected request costs nothing.
"""

from collections.abc import Sequence
from threading import Lock

from accounts.limits.windows import ADDRESS, MINUTE, MOST_AHEAD, PUBLIC_ADDRESS, Consume

# The number of granted requests, and each window's count before.
Consumed = tuple[int, list[int]]


def counts_address(counter: str) -> bool:
    """Whether the counter belongs to one client address, of which there may be any number."""
    return counter.startswith(ADDRESS) or f":{PUBLIC_ADDRESS}" in counter


class ProcessCounters:
    """Counts in this process, shared by its threads."""

    MAX_BUCKETS = 100_000  # beyond this, expired buckets are dropped; beyond ten times this, all anonymous ones

    def __init__(self) -> None:
        self.lock = Lock()
        self.tidied_in = 0  # the minute of the last cleanup, which is too slow for every request
        self.buckets: dict[tuple[str, int], tuple[int, int]] = {}  # (counter, seconds) → (window number, count)

    def consume(self, consumes: Sequence[Consume], now: int) -> list[Consumed]:
        """Grant each consumer as much of its cost as all its windows allow, and count it in all of them."""
        with self.lock:
            if len(self.buckets) > self.MAX_BUCKETS and now // MINUTE != self.tidied_in:
                self.tidy(now)
            return [self.consume_one(consume, now) for consume in consumes]

    def tidy(self, now: int) -> None:
        self.tidied_in = now // MINUTE
        self.buckets = {key: kept for key, kept in self.buckets.items() if kept[0] >= now // key[1]}
        if len(self.buckets) > 10 * self.MAX_BUCKETS:
            self.buckets = {key: kept for key, kept in self.buckets.items() if not counts_address(key[0])}

    def consume_one(self, consume: Consume, now: int) -> Consumed:
        numbers, used, now = [], [], consume.moment(now)
        for window in consume.windows:
            number, count = self.buckets.get((consume.counter_name(window), window.seconds), (0, 0))
            begun = now // window.seconds > number or number * window.seconds > now + MOST_AHEAD
            numbers.append(now // window.seconds if begun else number)
            used.append(0 if begun else count)
        room = min(consume.room(window, count) for window, count in zip(consume.windows, used, strict=True))
        granted = max(min(consume.cost, room), 0)
        if granted:
            for window, number, count in zip(consume.windows, numbers, used, strict=True):
                self.buckets[consume.counter_name(window), window.seconds] = (number, count + granted)
        return granted, used

    def forget_all(self) -> None:
        with self.lock:
            self.buckets = {}
