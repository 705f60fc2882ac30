"""What Prometheus reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scrape(**headers: str) -> Samples:
    return read(Client().get("/metrics", headers=headers).content.decode())


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the series that have these labels."""
    wanted = set(labels.items())
    return sum(number for (own, has), number in samples.items() if own == name and wanted <= has)


class Change:
    """By how much a metric has grown within the block."""

    before: Samples
    after: Samples

    def of(self, name: str, **labels: Any) -> float:
        return value(self.after, name, **labels) - value(self.before, name, **labels)


@contextmanager
def change() -> Iterator[Change]:
    seen = Change()
    seen.before = scrape()
    yield seen
    seen.after = scrape()
