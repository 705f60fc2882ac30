"""Parse the metrics that Prometheus reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

Samples = str  # as they are scraped: late in a run there are thousands, of which a test looks at a few


def scrape(**headers: str) -> Samples:
    return Client().get("/metrics", headers=headers).content.decode()


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the series that have these labels."""
    own = [line for line in samples.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    return sum(
        sample.value
        for family in text_string_to_metric_families("\n".join([*own, ""]))
        for sample in family.samples
        if labels.items() <= sample.labels.items()
    )


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
