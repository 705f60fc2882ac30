"""A cache bounded by the bytes that it holds."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from cachetools import FIFOCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

ROOM = 0.1  # of the bound, made at once where room is needed: making room is what costs


class Values(FIFOCache[K, V]):
    """What is kept, with the identities of the values and the number of those that went."""

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


class Compiled(Generic[K, V]):
    """Values by key, at most `most` by the sum of their weights; the oldest go first.

    For values that are never stale. Threads and the event loop share it; reading takes no lock. A second place that
    keeps a value asks whether it is still kept here (`keeps`), and again when `dropped` has grown: otherwise what went
    would stay in memory.
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

    def get(self, key: K) -> V | None:
        try:
            return self.values[key]
        except KeyError:
            return None

    def put(self, key: K, value: V) -> None:
        """Keeps the value, unless it is too heavy by itself. If room is needed, a tenth is freed at once."""
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
