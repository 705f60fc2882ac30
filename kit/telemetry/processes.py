"""CPU time, memory and files of all workers together, which prometheus_client shows for one process only."""

from collections.abc import Collection, Iterator
from functools import partial

from prometheus_client import ProcessCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

LEAST = {"process_start_time_seconds", "process_max_fds"}  # others are added up


class Workers(Collector):
    """The metrics of ProcessCollector, summed over the processes with these ids; of the oldest its start."""

    def __init__(self, numbers: Collection[int]) -> None:
        self.numbers = numbers

    def collect(self) -> Iterator[Metric]:
        merged: dict[str, Metric] = {}
        for number in self.numbers:
            collector = ProcessCollector(pid=partial(int, number), registry=CollectorRegistry())
            for metric in collector.collect():
                if (known := merged.get(metric.name)) is None:
                    merged[metric.name] = metric
                else:
                    add(known, metric)
        yield from merged.values()


def add(known: Metric, other: Metric) -> None:
    [one], [two] = known.samples, other.samples
    value = min(one.value, two.value) if known.name in LEAST else one.value + two.value
    known.samples = [one._replace(value=value)]
