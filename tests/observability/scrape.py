"""Parse Prometheus metrics."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

Samples = str  # as scraped: late in a run there are thousands, and a test needs few


def scrape(**headers: str) -> Samples:
    return Client().get("/metrics", headers=headers).content.decode()


def value(samples: Samples, name: str, **labels: str) -> float:
    """Return the sum of the series with these labels."""
    own = [line for line in samples.splitlines() if line.startswith((f"{name}{{", f"{name} "))]
    return sum(
        sample.value
        for family in text_string_to_metric_families("\n".join([*own, ""]))
        for sample in family.samples
        if labels.items() <= sample.labels.items()
    )


class Change:
    """The increase of a metric within the block."""

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
