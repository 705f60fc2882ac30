"""Currency conversion for reports: by day, via the euro."""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import date, timedelta
from decimal import Context, Decimal

from analytics.models import ExchangeRate
from kit.http.errors import InvalidRequest
from kit.values.currencies import MINOR_UNITS, parse_currency

EURO = "EUR"
MAX_AGE = timedelta(days=7)  # the last published rate applies over weekends and holidays
# Sums have up to 30 digits and rates about 10, so a conversion only rounds in its division, at the fiftieth digit.
PRECISION = Context(prec=50)


class Rates:
    """Units of each currency per euro, by day."""

    def __init__(self, published: Iterable[tuple[str, date, Decimal]]) -> None:
        self.days: dict[str, list[date]] = {}
        self.rates: dict[str, list[Decimal]] = {}
        for currency, day, rate in sorted(published):
            self.days.setdefault(currency, []).append(day)
            self.rates.setdefault(currency, []).append(rate)

    @classmethod
    def load(cls, currencies: Iterable[str], first: date, last: date) -> "Rates":
        """Load the rates that convert amounts of the days from `first` to `last`."""
        rows = ExchangeRate.objects.filter(
            currency__in=sorted(set(currencies) - {EURO}), day__range=(first - MAX_AGE, last)
        )
        return cls(
            (currency, day, Decimal(rate)) for currency, day, rate in rows.values_list("currency", "day", "rate")
        )

    def get_rate(self, currency: str, day: date) -> Decimal | None:
        """Return the rate of a day, or None if there is none or only an older one than allowed."""
        if currency == EURO:
            return Decimal(1)
        days = self.days.get(currency, [])
        index = bisect_right(days, day) - 1
        if index < 0 or day - days[index] > MAX_AGE:
            return None
        return self.rates[currency][index]

    def convert(self, amount: Decimal, source: str, target: str, day: date) -> Decimal | None:
        """Convert an amount at the rate of a day. Returns None without a rate; its own currency needs none."""
        if source == target:
            return amount
        source_rate = self.get_rate(source, day)
        target_rate = self.get_rate(target, day)
        if source_rate is None or target_rate is None:
            return None
        return PRECISION.divide(PRECISION.multiply(amount, target_rate), source_rate)


def check_currency(currency: str) -> str:
    """Raise InvalidRequest unless the currency is active, or withdrawn with stored rates."""
    if currency not in MINOR_UNITS and not ExchangeRate.objects.filter(currency=currency).exists():
        try:
            parse_currency(currency)
        except ValueError as error:
            raise InvalidRequest(f"currency: {error}", param="currency") from None
    return currency
