"""What the metrics cost an access check, beside the same counts by prometheus_client: microseconds, best of some runs.

python -m benchmarks.metrics                                        of one process, numbers in memory
PROMETHEUS_MULTIPROC_DIR=$(mktemp -d) python -m benchmarks.metrics  of several, numbers in mapped files
"""

import asyncio
import os
import timeit
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from prometheus_client import CollectorRegistry, Counter, Histogram  # noqa: E402

from licensing.access.event_loop import metrics  # noqa: E402

CALLS, RUNS = 50_000, 7
ALLOWED: Any = SimpleNamespace(dry_run=False, decision=SimpleNamespace(reason=None))
STORED: Any = SimpleNamespace(stale=False)

registry = CollectorRegistry()
checks = Counter("checks", "For comparison.", ["way", "outcome"], registry=registry)
lookups = Counter("lookups", "For comparison.", ["result"], registry=registry)
durations = Histogram(
    "duration_seconds", "For comparison.", ["route", "status"], buckets=metrics.SECONDS, registry=registry
)


def ours() -> None:
    """What licensing.access.event_loop.application and licensing.access.event_loop.gateway do for one check on cached
    facts."""
    begun = perf_counter()
    metrics.looked_up[metrics.HIT] += 1
    metrics.looked_up[metrics.HIT] += 2
    metrics.count_answers([ALLOWED])
    metrics.count_request(metrics.CHECK, 200, perf_counter() - begun)


def by_prometheus_client() -> None:
    begun = perf_counter()
    lookups.labels("hit").inc()
    lookups.labels("hit").inc(2)
    checks.labels("gateway", "allowed").inc()
    durations.labels(metrics.CHECK, "2xx").observe(perf_counter() - begun)


async def record(gateway: Any, many: Sequence[Any]) -> list[Any]:
    return [[STORED] for _ in many]


async def seconds_for(call: Callable[..., Awaitable[Any]], many: Sequence[Any]) -> float:
    begun = perf_counter()
    for _ in range(CALLS):
        await call(None, many)
    return perf_counter() - begun


def microseconds(seconds: list[float]) -> float:
    return min(seconds) / CALLS * 1e6


def main() -> None:
    for name, call in (("a check", ours), ("a check, by prometheus_client", by_prometheus_client)):
        print(f"{name}: {microseconds(timeit.repeat(call, number=CALLS, repeat=RUNS)):.2f}")
    for size in (1, 9):
        many: list[Any] = [[STORED]] * size
        bare, counted = (
            microseconds([asyncio.run(seconds_for(one, many)) for _ in range(RUNS)])
            for one in (record, metrics.observed(record))
        )
        print(f"a commit of {size}: {counted - bare:.2f}, for each of its checks {(counted - bare) / size:.2f}")


if __name__ == "__main__":
    main()
