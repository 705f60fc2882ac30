"""Worker processes and their parent: one that dies is replaced and reported, and none outlives its parent."""

import os
import signal

import httpx
import pytest

from tests.faults.harness import Deployment, eventually
from tests.observability.scrape import value

pytestmark = pytest.mark.faults


def deaths(server: Deployment) -> float:
    return value(httpx.get(f"{server.url}/metrics", timeout=60).text, "licensing_worker_deaths_total")


def test_a_worker_that_dies_is_replaced_counted_and_logged_with_the_cause(server: Deployment) -> None:
    before = deaths(server)
    victim = server.all_workers()[0].pid
    os.kill(victim, signal.SIGKILL)
    assert eventually(lambda: deaths(server) == before + 1)
    lines = [line for line in server.log().splitlines() if f"Worker {victim} died" in line]
    assert len(lines) == 1
    assert " WARNING " in lines[0]
    assert "it was ended by SIGKILL" in lines[0]
    assert eventually(lambda: len(server.all_workers()) == server.workers, seconds=60)


def test_workers_without_a_parent_answer_what_they_have_and_leave_the_port(server: Deployment, key: str) -> None:
    with server.client(key, limits=httpx.Limits(max_connections=1)) as client:
        assert client.get("/v1/content").status_code == 200
        assert server.process
        server.process.kill()
        server.process.wait()
        reply = client.get("/v1/content")
        while "close" not in reply.headers.get("connection", ""):
            reply = client.get("/v1/content")
            assert reply.status_code == 200
    assert eventually(lambda: not server.accepts_connections())
    server.start()
