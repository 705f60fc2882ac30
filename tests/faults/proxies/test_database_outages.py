"""PostgreSQL is stopped while the service runs: which pages stay available."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.faults.harness import Deployment, eventually
from tests.faults.proxies.pages import DOUBTFUL, is_served
from tests.faults.proxies.programs import HOST, Place, running, status_at
from tests.services import free_port

# The first page of each is read shortly before.
OPEN = ("/open/a", "/open/never-read", "/open/never-read/b-c.html?x=1")
CLOSED = (
    "/licensed/a", "/licensed/never-read", "/licensed/a?/open/a", "/open/../licensed/a", "/open/%2e%2e/licensed/a",
    "//licensed/a", "/priced/a", "/searched/a",
)  # fmt: skip


@pytest.fixture(params=["shipped", "generated"])
def at(request, proxy, site, server, publisher, origin, tmp_path) -> Iterator[Place]:
    """A proxy with its file from deploy/edge, or with the site's own, which keeps /open/ open."""
    own = ""
    if request.param == "generated":
        if proxy.name == "workerd":
            pytest.skip("The Worker has no file of its own: OPEN_PATHS is a variable.")
        own = site.get(f"/sites/{publisher.site_id}/proxy-config", params={"for": proxy.name}).json()["content"]
    place = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, keeps_open=True, generated=own)
    with running(proxy, place):
        yield place


@contextmanager
def stopped_database(server: Deployment) -> Iterator[None]:
    assert server.postgres
    server.postgres.stop("fast")
    try:
        yield
    finally:
        server.start()


def answers(worker: httpx.Client, edge_key: str) -> list[int]:
    """Return the statuses of this process's own answers about the pages that are read lately."""
    worker.headers.pop("Authorization", None)  # it would identify the visitor
    visit = {"X-Forwarded-Method": "GET", "X-Forwarded-Host": HOST, "X-Forwarded-Proto": "http"}
    questions = [{**visit, "X-Licensing-Key": edge_key, "X-Forwarded-Uri": path} for path in (OPEN[0], CLOSED[0])]
    return [worker.get("/v1/access/forward", headers=question).status_code for question in questions]


def served(at: Place, paths: tuple[str, ...]) -> list[str]:
    """Return the paths that the origin serves. Pages that were never read take seconds."""
    with ThreadPoolExecutor(len(paths)) as visitors:
        replies = list(visitors.map(is_served, [at.port] * len(paths), paths))
    return [path for path, is_open in zip(paths, replies, strict=True) if is_open]


def test_only_open_pages_stay_open_while_the_database_is_stopped(at, server, publisher):
    with server.client_of_each_worker(publisher.edge_key) as workers:
        for worker in workers:
            assert answers(worker, publisher.edge_key) == [200, 402]
        with stopped_database(server):
            for worker in workers:
                assert answers(worker, publisher.edge_key) == [503, 503]
            assert served(at, (*OPEN, *CLOSED, *DOUBTFUL)) == list(OPEN)
            assert status_at(at, CLOSED[0]) == 503
            assert is_served(at.port, "/robots.txt")
    assert eventually(lambda: is_served(at.port, OPEN[0]), 30)
    assert not is_served(at.port, CLOSED[0])
