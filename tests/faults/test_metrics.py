"""Metrics with several processes: each process reports all, including killed ones. None waits for the database."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from tests.faults.harness import Deployment, eventually
from tests.observability.scrape import Samples, value

pytestmark = pytest.mark.faults

CHECKS = "licensing_access_checks_total"
TIMED = "licensing_http_request_duration_seconds_count"
UP = "licensing_database_up"


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
        assert value(samples, CHECKS) - value(before, CHECKS) == 3 * server.workers
        assert value(samples, TIMED, route="/v1/content") - value(before, TIMED, route="/v1/content") == server.workers


def test_the_counts_of_a_killed_worker_are_kept(server: Deployment, key: str):
    with server.client_of_each_worker(key) as clients:
        for client in clients:
            check(client)
    before = scrape(server)
    os.kill(server.all_workers()[0].pid, signal.SIGKILL)
    assert eventually(lambda: len(server.all_workers()) == server.workers)
    after = scrape(server)
    assert value(after, CHECKS) == value(before, CHECKS) > 0


def test_scrapes_are_answered_while_postgresql_hangs_and_requests_wait_for_it(server: Deployment, keys: Iterator[str]):
    assert server.postgres
    assert server.postgres.process
    database = psutil.Process(server.postgres.process.pid)
    assert eventually(lambda: value(scrape(server), UP) == 1)
    hung = [database, *database.children(recursive=True)]

    def request(key: str) -> None:
        with server.client(key, timeout=120) as client:
            client.get("/v1/content")

    callers = [next(keys), next(keys), next(keys)]  # an account may use half of the threads
    with ThreadPoolExecutor(90) as clients:
        try:
            for process in hung:
                process.suspend()
            waiting = [clients.submit(request, key) for key in callers * 30]  # more than the threads of the processes
            assert eventually(lambda: f"{UP} 0.0" in scrape(server))
            for _ in range(4):
                samples = scrape(server)
                assert f"{UP} 0.0" in samples
                assert TIMED in samples
            assert not all(caller.done() for caller in waiting)  # so no scrape has waited as long as they do
        finally:
            for process in hung:
                process.resume()
    assert eventually(lambda: value(scrape(server), UP) == 1)
