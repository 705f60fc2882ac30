"""A proxy that gives up on a stalled service refuses the visitor, who must not be charged for that."""

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager

import httpx
import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment

pytestmark = pytest.mark.faults

PRICED = {**ALLOW_ALL, "pricePerAccess": {"amount": 0.05, "currency": "USD"}}
GIVES_UP_AFTER = 0.5  # seconds


def visit(server: Deployment, key: str, **options: float) -> httpx.Response:
    """Ask as nginx does, for a visitor who offers the price."""
    headers = {
        "X-Licensing-Key": key,
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Host": "pub.example",
        "X-Forwarded-Uri": "/a",
        "Authorization": f"Bearer {key}",
        "Crawler-Max-Price": "USD 1",
    }
    return httpx.get(f"{server.url}/v1/access/forward?deny=403", headers=headers, **options)


def give_up(server: Deployment, key: str) -> None:
    with pytest.raises(httpx.ReadTimeout):
        visit(server, key, timeout=GIVES_UP_AFTER)


@contextmanager
def locked_database(server: Deployment) -> Iterator[None]:
    """Hold the lock of SQLite's writers."""
    with closing(sqlite3.connect(server.directory / "db.sqlite3", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield
        database.execute("ROLLBACK")


STALLS: dict[str, Callable[[Deployment], AbstractContextManager[None]]] = {
    "process": Deployment.stopped,
    "database": locked_database,
}


@pytest.mark.parametrize("stalled", STALLS)
def test_an_answer_for_which_the_proxy_no_longer_waits_is_neither_charged_nor_recorded(server, key, stalled):
    if stalled == "database" and server.postgres:
        pytest.skip("On PostgreSQL writers do not wait for each other's transactions.")
    with server.client(key) as client:
        terms = [{"pattern": "/*", "policyId": client.policy(PRICED)}]
        client.create("/v1/sites", host="pub.example", rules=terms, mode="enforce")
        assert (visit(server, key).status_code, booked(client)) == (200, 1)

        with STALLS[stalled](server), ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: give_up(server, key), range(3)))

        assert (visit(server, key).status_code, booked(client)) == (200, 2)
        assert client.get("/v1/access/decisions").json()["totalCount"] == 2


def booked(client: httpx.Client) -> int:
    entries: int = client.get("/v1/revenue").json()["totalCount"]
    return entries
