"""Time spans for revenue, and the exchange rates of their days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from analytics.rates.conversion import PRECISION
from analytics.windows import DAY, midnight

Group = tuple[date, str]  # day and currency
Weights = Mapping[Group, Decimal]  # value of one unit in the report's currency, by day and currency

WEIGHT_PLACES = 40
NO_WEIGHT = Decimal(0)  # of a group without an exchange rate: its entries count nowhere


def round_weight(weight: Decimal) -> Decimal:
    return weight.quantize(Decimal(1).scaleb(-WEIGHT_PLACES), context=PRECISION)


@dataclass(frozen=True)
class Span:
    """From `start` (included) to `end` (excluded)."""

    start: datetime
    end: datetime

    @property
    def days(self) -> tuple[date, date]:
        """Return the half-open range of whole days: first day, day after the last. Both are equal if there is none."""
        first = midnight(self.start)
        if first < self.start:
            first += DAY
        return first.date(), max(first, midnight(self.end)).date()

    @property
    def parts(self) -> list[tuple[datetime, datetime]]:
        """Return the partial days at the edges."""
        first, last = midnight(self.start), midnight(self.end)
        if first == last:
            return [(self.start, self.end)] if self.start < self.end else []
        edges = [(self.start, first + DAY)] if first < self.start else []
        return edges + ([(last, self.end)] if last < self.end else [])
