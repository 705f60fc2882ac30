"""Plan limits while Sentinels make a replica the primary (docs/guides/deployment.md, Redis or Valkey)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.harness import Deployment, deployed
from tests.faults.shared_limits import LIMIT, WORKERS, how_many_pass, requests_of, wait_for_redis
from tests.faults.traffic import at_once
from tests.services import Watched, postgres, valkey_sentinel

pytestmark = pytest.mark.faults


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


def test_limits_follow_the_primary_and_are_exceeded_at_most_by_each_process_once(watched, server):
    [(limited, _), (later, _)] = server.accounts(2, requests_per_day=LIMIT)
    with server.client_of_each_worker(limited) as workers:
        assert how_many_pass(at_once(server, requests_of(limited, 100))) == LIMIT
        watched.primary.kill()
        extra = how_many_pass(at_once(server, requests_of(limited, 200)))
        wait_for_redis(workers)
        extra += how_many_pass(at_once(server, requests_of(limited, 100)))
    watched.primary.start()  # it takes itself for a primary until a Sentinel demotes it

    assert extra <= LIMIT * WORKERS
    assert how_many_pass(at_once(server, requests_of(later, 200))) == LIMIT
    assert "Redis is back" in server.log()
