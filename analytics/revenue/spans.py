"""Spans of time to sum revenue over, and the exchange rates of their days."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from analytics.rates.conversion import PRECISION
from analytics.windows import DAY, midnight

Group = tuple[date, str]  # a day and a currency
Weights = Mapping[Group, Decimal]  # what an amount of that currency was worth that day, in the report's currency

WEIGHT_PLACES = 40


def rounded(weight: Decimal) -> Decimal:
    return weight.quantize(Decimal(1).scaleb(-WEIGHT_PLACES), context=PRECISION)


@dataclass(frozen=True)
class Span:
    """From `start` to just before `end`."""

    start: datetime
    end: datetime

    @property
    def days(self) -> tuple[date, date]:
        """The half-open range of whole days in the span, (first, day after the last); both equal if there is none."""
        first = midnight(self.start)
        if first < self.start:
            first += DAY
        return first.date(), max(first, midnight(self.end)).date()

    @property
    def parts(self) -> list[tuple[datetime, datetime]]:
        """The partial days at the edges of the span."""
        first, last = midnight(self.start), midnight(self.end)
        if first == last:
            return [(self.start, self.end)] if self.start < self.end else []
        edges = [(self.start, first + DAY)] if first < self.start else []
        return edges + ([(last, self.end)] if last < self.end else [])
