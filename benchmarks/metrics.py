"""The cost of metrics per access check, compared with prometheus_client: microseconds, best of several runs.

python -m benchmarks.metrics                                        one process, values in memory
PROMETHEUS_MULTIPROC_DIR=$(mktemp -d) python -m benchmarks.metrics  several processes, values in mapped files
"""

import os
import timeit
from functools import partial
from time import perf_counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from prometheus_client import CollectorRegistry, Counter, Histogram  # noqa: E402

from analytics.recording.outcomes import STORED  # noqa: E402
from licensing.access.event_loop import metrics  # noqa: E402

CALLS, RUNS = 50_000, 7

registry = CollectorRegistry()
checks = Counter("checks", "For comparison.", ["way", "outcome"], registry=registry)
lookups = Counter("lookups", "For comparison.", ["result"], registry=registry)
durations = Histogram(
    "duration_seconds", "For comparison.", ["route", "status"], buckets=metrics.SECONDS, registry=registry
)


def ours() -> None:
    """Record the metrics of one check on cached facts, as licensing.access.event_loop's application and gateway do."""
    begun = perf_counter()
    metrics.looked_up[metrics.HIT] += 1
    metrics.looked_up[metrics.HIT] += 2
    metrics.checks.values[metrics.OUTCOME_AT[metrics.ALLOWED]] += 1
    metrics.count_request(metrics.CHECK, 200, perf_counter() - begun)


def by_prometheus_client() -> None:
    begun = perf_counter()
    lookups.labels("hit").inc()
    lookups.labels("hit").inc(2)
    checks.labels("gateway", "allowed").inc()
    durations.labels(metrics.CHECK, "2xx").observe(perf_counter() - begun)


def commits(size: int) -> None:
    """Record the metrics of a commit of that many checks, as licensing.access.event_loop.gateway does."""
    metrics.count_commit(perf_counter() - perf_counter(), [STORED] * size, [1] * size)


def microseconds(seconds: list[float]) -> float:
    return min(seconds) / CALLS * 1e6


def main() -> None:
    for name, call in (("a check", ours), ("a check, by prometheus_client", by_prometheus_client)):
        print(f"{name}: {microseconds(timeit.repeat(call, number=CALLS, repeat=RUNS)):.2f}")
    for size in (1, 9):
        counted = microseconds(timeit.repeat(partial(commits, size), number=CALLS, repeat=RUNS))
        print(f"a commit of {size}: {counted:.2f}, for each of its checks {counted / size:.2f}")


if __name__ == "__main__":
    main()
