"""Plan limits while Sentinels make a replica the primary (docs/guides/deployment.md, Redis or Valkey)."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.harness import Deployment, deployed, eventually
from tests.faults.traffic import at_once, request
from tests.services import Watched, postgres, valkey_sentinel

pytestmark = pytest.mark.faults

WORKERS, LIMIT = 2, 60
CHECK = {"contentId": "cnt_00000000000000000000000000", "requester": "org_acme"}


@pytest.fixture
def watched() -> Iterator[Watched]:
    with valkey_sentinel() as watched:
        yield watched


@pytest.fixture
def server(watched: Watched, tmp_path: Path) -> Iterator[Deployment]:
    with (
        postgres(fsync=False) as database,
        deployed(tmp_path, workers=WORKERS, postgres=database, REDIS_URL=watched.url) as server,
    ):
        yield server


def pass_of(server: Deployment, key: str, count: int) -> int:
    """Send requests simultaneously, half through threads and half on the event loop; return how many pass."""
    listings = [request("GET", "/v1/content", key)] * (count // 2)
    checks = [request("POST", "/v1/access/check", key, CHECK)] * (count // 2)
    found = Counter(reply.status for reply in at_once(server, [*listings, *checks]))
    assert found.keys() <= {200, 404, 429}
    return found[200] + found[404]


def wait_for_redis(workers: list[httpx.Client]) -> None:
    """Wait until each worker counts in Redis."""

    def where_they_count() -> set[str]:
        return {worker.get("/readyz").json()["checks"]["limits"] for worker in workers}

    assert eventually(lambda: where_they_count() == {"redis"})


def test_limits_follow_the_primary_and_are_exceeded_at_most_by_each_process_once(
    watched: Watched, server: Deployment
) -> None:
    [(limited, _), (later, _)] = server.accounts(2, requests_per_day=LIMIT)
    with server.client_of_each_worker(limited) as workers:
        assert pass_of(server, limited, 100) == LIMIT
        watched.primary.kill()
        extra = pass_of(server, limited, 200)
        wait_for_redis(workers)
        extra += pass_of(server, limited, 100)
    watched.primary.start()  # it takes itself for a primary until a Sentinel demotes it

    assert extra <= LIMIT * WORKERS
    assert pass_of(server, later, 200) == LIMIT
    assert "Redis is back" in server.log()
