"""What a process keeps of what it has compiled, so that memory stays bounded however much there is."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Compiled(Generic[K, V]):
    """Values by key, up to `most` by the sum of what `weigh` says of each; the oldest go first.

    For values that are never stale. Threads and the event loop share it; reading takes no lock. Who keeps a value
    elsewhere too asks whether it is still `kept` here, and again when `dropped` has grown: otherwise what went would
    stay in memory.
    """

    def __init__(self, weigh: Callable[[V], int], most: int) -> None:
        self.weigh, self.most, self.weight = weigh, most, 0
        self.values: dict[K, V] = {}
        self.identities: set[int] = set()  # of the values
        self.dropped = 0
        self.writing = Lock()

    def get(self, key: K) -> V | None:
        return self.values.get(key)

    def put(self, key: K, value: V) -> None:
        """One that is too heavy by itself is not kept. Where room is needed, a tenth is made at once."""
        with self.writing:
            self.drop(key)
            if self.weigh(value) > self.most:
                return
            self.values[key] = value
            self.identities.add(id(value))
            self.weight += self.weigh(value)
            if self.weight > self.most:
                while self.weight > self.most * 0.9 and len(self.values) > 1:
                    self.drop(next(iter(self.values)))

    def drop(self, key: K) -> None:
        dropped = self.values.pop(key, None)
        if dropped is not None:
            self.identities.discard(id(dropped))
            self.weight -= self.weigh(dropped)
            self.dropped += 1

    def keeps(self, value: V) -> bool:
        return id(value) in self.identities

    def clear(self) -> None:
        with self.writing:
            self.values.clear()
            self.identities.clear()
            self.dropped += 1
            self.weight = 0
