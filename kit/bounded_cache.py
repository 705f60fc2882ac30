"""A cache with a limit in bytes."""

from collections.abc import Callable, Hashable
from functools import wraps
from threading import Lock
from typing import Generic, TypeVar

import orjson
from cachetools import FIFOCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

ROOM = 0.1  # of the limit, freed in one go when the cache is full, because evicting is the expensive step


class Values(FIFOCache[K, V]):
    """The cached values, with their identities and the number of evictions."""

    def __init__(self, weigh: Callable[[V], int], most: int) -> None:
        super().__init__(most, getsizeof=weigh)
        self.identities: set[int] = set()
        self.dropped = 0

    def __delitem__(self, key: K) -> None:
        self.identities.discard(id(self[key]))
        self.dropped += 1
        super().__delitem__(key)

    def popitem(self) -> tuple[K, V]:
        item = super().popitem()
        while self.currsize > self.maxsize * (1 - ROOM):
            super().popitem()
        return item


class NotCached(Exception):
    """The value has to be read from the database first."""


class BoundedCache(Generic[K, V]):
    """A cache of values by key, limited to `most` total weight; evicts the oldest first.

    For values that never go stale. Threads and the event loop share it; reads take no lock. Code that keeps its own
    reference to a value checks `keeps` first, and again whenever `dropped` has grown; otherwise evicted values would
    stay in memory.
    """

    def __init__(self, weigh: Callable[[V], int], most: int) -> None:
        self.values: Values[K, V] = Values(weigh, most)
        self.writing = Lock()

    @property
    def weight(self) -> float:
        return self.values.currsize

    @property
    def dropped(self) -> int:
        return self.values.dropped

    def require(self, key: K) -> V:
        """Return the value. Raises NotCached without one."""
        value = self.get(key)
        if value is None:
            raise NotCached
        return value

    def get(self, key: K) -> V | None:
        try:
            return self.values[key]
        except KeyError:
            return None

    def put(self, key: K, value: V) -> None:
        """Store the value unless it alone exceeds the limit. A full cache frees a tenth of its room at once."""
        with self.writing:
            self.values.pop(key, None)
            if self.values.getsizeof(value) <= self.values.maxsize:
                self.values[key] = value
                self.values.identities.add(id(value))

    def keeps(self, value: object) -> bool:
        return id(value) in self.values.identities

    def clear(self) -> None:
        with self.writing:
            self.values.clear()
            self.values.dropped += 1


def cached_by_json(weigh: Callable[[V], int], most: int) -> Callable[[Callable[[object], V]], Callable[[object], V]]:
    """Decorate a pure function of a JSON value to return what it lately returned for the same one.

    The order of members counts: results may depend on it.
    """

    def decorate(function: Callable[[object], V]) -> Callable[[object], V]:
        results: BoundedCache[bytes, V] = BoundedCache(weigh, most)

        @wraps(function)
        def cached(value: object) -> V:
            try:
                text = orjson.dumps(value)
            except TypeError:  # JSON has no such value
                return function(value)
            result = results.get(text)
            if result is None:
                result = function(value)
                results.put(text, result)
            return result

        return cached

    return decorate
