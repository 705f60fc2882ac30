"""What a process keeps of what it has compiled, so that memory stays bounded however much there is."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Compiled(Generic[K, V]):
    """Values by key, up to `most` by the sum of what `weigh` says of each; the oldest go first.

    For values that are never stale. Threads and the event loop share it; reading takes no lock.
    """

    def __init__(self, weigh: Callable[[V], int], most: int) -> None:
        self.weigh, self.most, self.weight = weigh, most, 0
        self.values: dict[K, V] = {}
        self.writing = Lock()

    def get(self, key: K) -> V | None:
        return self.values.get(key)

    def put(self, key: K, value: V) -> None:
        """One that is too heavy by itself is not kept."""
        with self.writing:
            self.drop(key)
            self.values[key] = value
            self.weight += self.weigh(value)
            while self.weight > self.most:
                self.drop(next(iter(self.values)))

    def drop(self, key: K) -> None:
        dropped = self.values.pop(key, None)
        if dropped is not None:
            self.weight -= self.weigh(dropped)

    def clear(self) -> None:
        with self.writing:
            self.values.clear()
            self.weight = 0
