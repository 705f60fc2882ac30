"""Numbers of visits."""

from datetime import UTC, datetime

from msgspec import Struct

NEVER = datetime.min.replace(tzinfo=UTC)


class Visits(Struct, frozen=True):
    """Numbers of visits by answer, and the time of the last visit.

    `violations` of them are disallowed by the site's robots.txt. `verified` are those of visitors who proved who they
    are, where a report counts them.
    """

    allowed: int = 0
    observed: int = 0
    denied: int = 0
    last_seen: datetime = NEVER
    violations: int = 0
    verified: int = 0

    @property
    def total(self) -> int:
        return self.allowed + self.observed + self.denied

    def __add__(self, other: "Visits") -> "Visits":
        return Visits(
            self.allowed + other.allowed,
            self.observed + other.observed,
            self.denied + other.denied,
            max(self.last_seen, other.last_seen),
            self.violations + other.violations,
            self.verified + other.verified,
        )

    def present_counts(self) -> dict[str, object]:
        return {
            "requests": self.total,
            "allowed": self.allowed,
            "observed": self.observed,
            "denied": self.denied,
        }
