"""When each background job last succeeded, and how long it took."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, time

from prometheus_client import Gauge

# Also of workers that have ended: their success still counts.
last_success = Gauge(
    "licensing_job_last_success_timestamp_seconds",
    "When a background job last succeeded, in Unix seconds; 0 if it has not since the start.",
    ["task"],
    multiprocess_mode="max",
)
duration = Gauge(
    "licensing_job_duration_seconds",
    "How long a background job took when it last succeeded.",
    ["task"],
    multiprocess_mode="mostrecent",
)


def job_name(act: Callable[[], object]) -> str:
    """Return a job's name in metrics: that of its function."""
    function = getattr(act, "func", act)  # of a partial
    return str(function.__name__)


def create_series(task: str) -> None:
    """Show the job before it has run."""
    last_success.labels(task)
    duration.labels(task)


@contextmanager
def observe_job(task: str) -> Iterator[None]:
    began = perf_counter()
    yield
    last_success.labels(task).set(time())
    duration.labels(task).set(perf_counter() - began)
