"""Loading exchange rates: all or nothing; loading the same file again changes nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db import transaction

from analytics.models import ExchangeRate
from analytics.rates.ecb_file import Rate

BATCH_ROWS = 5000


class ChangedRate(NamedTuple):
    """A stored rate that the file corrects."""

    day: date
    currency: str
    before: str
    after: str


@dataclass
class RateImport:
    created: int = 0
    unchanged: int = 0
    changed: list[ChangedRate] = field(default_factory=list)

    @property
    def rates(self) -> int:
        return self.created + self.unchanged + len(self.changed)


@transaction.atomic
def import_rates(rates: Sequence[Rate], progress: Callable[[int], None] | None = None) -> RateImport:
    """Add new rates and replace changed ones; rates that the file lacks remain.

    `progress` receives the number of rates written so far.
    """
    rows = ExchangeRate.objects.values_list("currency", "day", "rate")
    stored = {(currency, day): rate for currency, day, rate in rows.iterator()}
    tally = RateImport()
    to_write: list[ExchangeRate] = []
    for currency, day, text in rates:
        before = stored.get((currency, day))
        if before is None:
            tally.created += 1
        elif before != text and Decimal(before) != Decimal(text):
            tally.changed.append(ChangedRate(day, currency, before, text))
        else:
            tally.unchanged += 1
            continue
        to_write.append(ExchangeRate(currency=currency, day=day, rate=text))
    to_write.sort(key=lambda rate: (rate.currency, rate.day))  # in index order, the same for concurrent imports
    for start in range(0, len(to_write), BATCH_ROWS):
        ExchangeRate.objects.bulk_create(
            to_write[start : start + BATCH_ROWS],
            update_conflicts=True,
            unique_fields=["currency", "day"],
            update_fields=["rate"],
        )
        if progress is not None:
            progress(min(start + BATCH_ROWS, len(to_write)))
    return tally
