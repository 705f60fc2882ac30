"""Loading exchange rates: all or nothing; loading the same file again changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from django.db import transaction

from analytics.models import ExchangeRate
from analytics.rates.ecb_file import Rate

BATCH = 5000


@dataclass
class RateImport:
    created: int = 0
    unchanged: int = 0
    changed: list[tuple[date, str, str, str]] = field(default_factory=list)  # day, currency, before, after

    @property
    def rates(self) -> int:
        return self.created + self.unchanged + len(self.changed)


@transaction.atomic
def import_rates(rates: Sequence[Rate], progress: Callable[[int], None] = lambda done: None) -> RateImport:
    """Add new rates and replace changed ones; rates that the file lacks remain.

    `progress` receives the number of rates written so far.
    """
    rows = ExchangeRate.objects.values_list("currency", "day", "rate")
    stored = {(currency, day): rate for currency, day, rate in rows.iterator()}
    tally = RateImport()
    waiting: list[ExchangeRate] = []
    for currency, day, text in rates:
        before = stored.get((currency, day))
        if before is None:
            tally.created += 1
        elif before != text and Decimal(before) != Decimal(text):
            tally.changed.append((day, currency, before, text))
        else:
            tally.unchanged += 1
            continue
        waiting.append(ExchangeRate(currency=currency, day=day, rate=text))
    waiting.sort(key=lambda rate: (rate.currency, rate.day))  # in index order, the same for concurrent imports
    for start in range(0, len(waiting), BATCH):
        ExchangeRate.objects.bulk_create(
            waiting[start : start + BATCH],
            update_conflicts=True,
            unique_fields=["currency", "day"],
            update_fields=["rate"],
        )
        progress(min(start + BATCH, len(waiting)))
    return tally
