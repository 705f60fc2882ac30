"""Metrics with several processes: each process reports all, including killed ones."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from tests.faults.harness import Deployment, eventually
from tests.observability.scrape import Samples, value

pytestmark = pytest.mark.faults

CHECKS = "licensing_access_checks_total"
TIMED = "licensing_http_request_duration_seconds_count"


def scrape(server: Deployment) -> Samples:
    return httpx.get(f"{server.url}/metrics", timeout=60).text


def check(client: httpx.Client) -> int:
    return client.post("/v1/access/check", json={"externalId": "none", "requester": "org_acme"}).status_code


def test_every_process_answers_for_all(server: Deployment, key: str):
    with server.client_of_each_worker(key) as clients:
        before = scrape(server)
        for client in clients:
            assert [check(client) for _ in range(3)] == [404] * 3
            assert client.get("/v1/content").status_code == 200
        told = [client.get("/metrics").text for client in clients]
    for samples in told:
        assert value(samples, CHECKS, way="gateway") - value(before, CHECKS, way="gateway") == 3 * server.workers
        assert value(samples, TIMED, route="/v1/content") - value(before, TIMED, route="/v1/content") == server.workers


def test_what_a_killed_worker_counted_stays(server: Deployment, key: str):
    with server.client_of_each_worker(key) as clients:
        for client in clients:
            check(client)
    before = scrape(server)
    os.kill(server.all_workers()[0].pid, signal.SIGKILL)
    assert eventually(lambda: len(server.all_workers()) == server.workers, seconds=60)
    after = scrape(server)
    assert value(after, CHECKS) == value(before, CHECKS) > 0


def test_the_files_go_with_the_server_or_when_the_next_one_starts(server: Deployment):
    def directories() -> list[Path]:
        return list(Path(server.directory).glob("metrics-*"))

    server.restart()  # by kill -9
    assert len(directories()) == 1
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=40) is not None
    assert directories() == []
    server.start()
