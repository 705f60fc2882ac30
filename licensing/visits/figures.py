"""Numbers of visits."""

from datetime import datetime

from msgspec import Struct


class Visits(Struct, frozen=True):
    """Numbers of visits by answer, and the time of the last visit."""

    allowed: int
    observed: int
    denied: int
    last_seen: datetime

    @property
    def total(self) -> int:
        return self.allowed + self.observed + self.denied

    def __add__(self, other: "Visits") -> "Visits":
        return Visits(
            self.allowed + other.allowed,
            self.observed + other.observed,
            self.denied + other.denied,
            max(self.last_seen, other.last_seen),
        )
