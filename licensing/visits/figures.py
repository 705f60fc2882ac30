"""Numbers of visits."""

from datetime import datetime

from django.db.models import Count, Max, Q
from msgspec import Struct

# Annotations that count decisions in the order of the first fields of Visits.
COUNTS = {
    "allowed_count": Count("pk", filter=Q(allowed=True, observed=None)),
    "observed_count": Count("pk", filter=Q(observed__isnull=False)),
    "denied_count": Count("pk", filter=Q(allowed=False)),
    "last": Max("created"),
}


class Visits(Struct, frozen=True):
    """Numbers of visits by answer, and the time of the last visit.

    `violations` of them are disallowed by the site's robots.txt.
    """

    allowed: int
    observed: int
    denied: int
    last_seen: datetime
    violations: int = 0

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
        )
