"""Metrics that cost almost nothing to update: plain numbers at fixed positions, read when Prometheus scrapes.

prometheus_client's counters take a lock, a lookup by labels and, with several processes, a dictionary in a file:
microseconds that an access check cannot spare. They are used everywhere else. The metrics here are arrays with the
same layout in every process. With PROMETHEUS_MULTIPROC_DIR each array is a memory-mapped file, so that any process can
add them all up, including those of dead workers.
"""

import os
from abc import abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import accumulate, product
from mmap import mmap
from pathlib import Path
from threading import Lock
from typing import Generic, Protocol, TypeVar

from django.conf import settings
from prometheus_client import REGISTRY, ProcessCollector, disable_created_metrics, multiprocess
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.utils import floatToGoString

from kit.telemetry.reserved_files import report, reserve

MINIMA = {"process_start_time_seconds", "process_max_fds"}  # others are added up
SUFFIX = ".cells"
M = TypeVar("M", bound=Metric)
S = TypeVar("S", CounterMetricFamily, GaugeMetricFamily)


class Workers(Collector):
    """The metrics of ProcessCollector, summed over the processes with these ids; of the oldest its start."""

    def __init__(self, numbers: Collection[int]) -> None:
        self.numbers = numbers

    def collect(self) -> Iterator[Metric]:
        metrics_by_name: dict[str, Metric] = {}
        for number in self.numbers:
            collector = ProcessCollector(pid=partial(int, number), registry=CollectorRegistry())
            for metric in collector.collect():
                if (former := metrics_by_name.get(metric.name)) is None:
                    metrics_by_name[metric.name] = metric
                else:
                    add(former, metric)
        yield from metrics_by_name.values()


def add(total: Metric, other: Metric) -> None:
    values = [sample.value for sample in (*total.samples, *other.samples)]  # one each
    value = min(values) if total.name in MINIMA else sum(values)
    total.samples = [total.samples[0]._replace(value=value)]


disable_created_metrics()  # they add a line with the start time to each series


class Cells(Protocol):
    """An array of numbers, in a list or in mapped memory."""

    def __getitem__(self, index: int, /) -> float: ...
    def __setitem__(self, index: int, number: float, /) -> None: ...
    def __iter__(self) -> Iterator[float]: ...
    def __len__(self) -> int: ...


class Family(Collector, Generic[M]):
    """A metric and its series: one per combination of label values, each with `width` numbers.

    If only the event loop writes a position, it needs no lock: `family.values[place] += 1`. Threads use `add`.
    """

    def __init__(self, name: str, text: str, *, width: int = 1, **labels: Sequence[str]) -> None:
        self.name = name
        self.text = text
        self.width = width
        self.labels = list(labels)
        self.series = list(product(*labels.values()))
        self.lock = Lock()
        self.allocate()
        families[name] = self

    def allocate(self) -> None:
        """Set `values` to zeros, in the place that the settings name now."""
        self.values: Cells = numbers(self.name, len(self.series) * self.width)

    def place(self, *labels: str) -> int:
        return self.series.index(labels) * self.width

    def add(self, index: int, amount: float = 1) -> None:
        with self.lock:
            self.values[index] += amount

    def collect(self) -> Iterator[Metric]:
        metric = self.metric()
        totals = self.totals()
        for number, labels in enumerate(self.series):
            self.fill(metric, labels, totals[number * self.width : (number + 1) * self.width])
        yield metric

    def totals(self) -> list[float]:
        """Return the numbers summed over all processes."""
        if not settings.PROMETHEUS_MULTIPROC_DIR:
            return list(self.values)
        arrays = [array("d", path.read_bytes()) for path in metric_files(self.name) if self.counts(path)]
        columns = zip(*filter(None, arrays), strict=True)
        return [self.combine(column) for column in columns] or [0.0] * len(self.values)

    def combine(self, values: Iterable[float]) -> float:
        return sum(values)

    def counts(self, path: Path) -> bool:
        """Whether to include the process of this file, which may have ended."""
        return True

    @abstractmethod
    def metric(self) -> M: ...

    @abstractmethod
    def fill(self, metric: M, labels: Sequence[str], values: list[float]) -> None:
        """Add one series with its numbers to the metric."""


class Single(Family[S]):
    """A metric with one number per series."""

    def fill(self, metric: S, labels: Sequence[str], values: list[float]) -> None:
        metric.add_metric(labels, values[0])


class Counter(Single[CounterMetricFamily]):
    def metric(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self.text, labels=self.labels)


class Gauge(Single[GaugeMetricFamily]):
    """The current value, summed over all living processes."""

    def metric(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self.text, labels=self.labels)

    def counts(self, path: Path) -> bool:
        return is_alive(process_id(path))


class WorstGauge(Gauge):
    """The largest current value of any living process."""

    def combine(self, values: Iterable[float]) -> float:
        return max(values)


class Histogram(Family[HistogramMetricFamily]):
    """Counts by size: one number per bucket, one for values beyond the last bound, and their sum."""

    def __init__(self, name: str, text: str, bounds: Iterable[float], **labels: Sequence[str]) -> None:
        self.bounds = list(bounds)
        self.sum_at = len(self.bounds) + 1
        super().__init__(name, text, width=self.sum_at + 1, **labels)

    def observe(self, index: int, value: float) -> None:
        """Record a value. Event loop only; threads use `observe_in_thread`."""
        values = self.values
        values[index + bisect_left(self.bounds, value)] += 1
        values[index + self.sum_at] += value

    def observe_in_thread(self, index: int, value: float) -> None:
        with self.lock:
            self.observe(index, value)

    def metric(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self.text, labels=self.labels)

    def fill(self, metric: HistogramMetricFamily, labels: Sequence[str], values: list[float]) -> None:
        bounds = [floatToGoString(bound) for bound in [*self.bounds, float("inf")]]
        metric.add_metric(labels, list(zip(bounds, accumulate(values[:-1]), strict=True)), values[-1])


class BuildInfo(Collector):
    """The version of the answering process, as a label of a gauge that is always 1."""

    def __init__(self, version: str) -> None:
        self.version = version

    def collect(self) -> Iterator[Metric]:
        metric = GaugeMetricFamily("licensing_build_info", "Always 1. The label is the version.", labels=["version"])
        metric.add_metric([self.version], 1)
        yield metric


families: dict[str, Collector] = {}


def registry() -> CollectorRegistry:
    """Return a registry with all metrics: of this process or, with several workers, of all."""
    everything = CollectorRegistry()
    if settings.PROMETHEUS_MULTIPROC_DIR:
        multiprocess.MultiProcessCollector(everything)
        everything.register(Workers(living_workers()))
    else:
        everything.register(REGISTRY)
    for family in families.values():
        everything.register(family)
    return everything


# --- Where the numbers are -------------------------------------------------------------------------------------------


def numbers(name: str, size: int) -> Cells:
    """Return zeros, in memory or in a file of this process; an existing file of the same process id continues.

    A file that finds no room is replaced by memory, and missing in /metrics.
    """
    if not settings.PROMETHEUS_MULTIPROC_DIR:
        return [0.0] * size
    path = Path(settings.PROMETHEUS_MULTIPROC_DIR) / f"{name}.{os.getpid()}{SUFFIX}"
    try:
        reserve(path, size * 8)
        with path.open("r+b") as file:
            return memoryview(mmap(file.fileno(), size * 8)).cast("d")
    except OSError as error:
        report(error)
        return [0.0] * size


def metric_files(name: str) -> list[Path]:
    return sorted(Path(settings.PROMETHEUS_MULTIPROC_DIR).glob(f"{name}.*{SUFFIX}"))


def process_id(path: Path) -> int:
    return int(path.name.removesuffix(SUFFIX).rpartition(".")[2])


def is_alive(process: int) -> bool:
    with suppress(PermissionError):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True


def living_workers() -> list[int]:
    """Return the ids of the processes that share PROMETHEUS_MULTIPROC_DIR and are alive."""
    name = next(iter(families))
    return [process for process in map(process_id, metric_files(name)) if is_alive(process)]
