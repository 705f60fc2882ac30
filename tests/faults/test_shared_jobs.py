"""Of all processes on all machines, one runs the shared jobs and delivers webhooks."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.faults.harness import Deployment, beside, eventually
from tests.observability.scrape import value

pytestmark = pytest.mark.faults


@pytest.fixture
def other(server: Deployment, tmp_path: Path) -> Iterator[Deployment]:
    """Another service on the same database, as on another machine, with one process. It starts second."""
    assert eventually(lambda: runs_jobs(server))
    with beside(server, tmp_path, valkey=server.valkey) as second:
        yield second


def times_elected(server: Deployment) -> int:
    return server.log().count("This process runs the jobs of all processes.")


def runs_jobs(server: Deployment) -> bool:
    return value(httpx.get(f"{server.url}/metrics", timeout=60).text, "licensing_shared_jobs") == 1


def background_worker(server: Deployment) -> psutil.Process:
    """Return the child that answers no requests."""
    assert server.process
    answering = eventually(server.all_workers)
    children = psutil.Process(server.process.pid).children()
    [worker] = [child for child in children if child not in answering and "spawn_main" in " ".join(child.cmdline())]
    return worker


def test_another_process_takes_the_jobs_over_when_theirs_dies(server: Deployment, other: Deployment) -> None:
    assert times_elected(other) == 0
    assert not runs_jobs(other)
    before = times_elected(server)
    background_worker(server).kill()
    assert eventually(lambda: times_elected(server) + times_elected(other) == before + 1)
    assert eventually(lambda: [runs_jobs(server), runs_jobs(other)].count(True) == 1)
    server.kill()
    assert eventually(lambda: times_elected(other) == 1 and runs_jobs(other))
