"""A full disk under the database (docs/reference/api.md): 503s, no lost answers, automatic recovery.

The test limits file sizes instead, which needs no disk of its own and no privileges: a write that would make one
longer fails.
"""

from collections.abc import Iterator

import httpx
import psycopg
import pytest

from kit.storage.outage_causes import DISK_FULL_SECONDS
from tests.faults.harness import Deployment, eventually
from tests.faults.ledger import Ledger
from tests.faults.traffic import in_groups, request, statuses
from tests.services import Postgres

pytestmark = pytest.mark.faults

LOG_SEGMENT = 1 << 20  # of PostgreSQL's log, in bytes, as in conftest


def fill(server: Deployment, key: str) -> None:
    """Make the decisions table larger than a segment of PostgreSQL's log.

    The log needs space for a new segment, and PostgreSQL exits without it.
    """
    if server.postgres is None:
        return
    client = server.client(key)
    batch = {"requester": "org_acme", "checks": [{"contentId": client.item()}] * 50}
    while size_of_decisions(server.postgres) < LOG_SEGMENT:
        in_groups(server, [request("POST", "/v1/access/check/batch", key, batch)] * 20, 4)


def reached(server: Deployment) -> int:
    """Return a size in bytes that the database's files are about to exceed.

    SQLite's log exists while the server has an open connection, as it does under load.
    """
    if server.postgres is None:
        return (server.directory / "db.sqlite3-wal").stat().st_size // 2
    return size_of_decisions(server.postgres)


def size_of_decisions(database: Postgres) -> int:
    """Return the size in bytes of the longest file of the decisions table and its partitions."""
    with psycopg.connect(database.url) as connection:
        [size] = connection.execute(
            "SELECT max(pg_relation_size(relid)) FROM pg_partition_tree('analytics_accessevent')"
        ).fetchone()
        return size


def database_of(server: Deployment) -> tuple[int, str]:
    """Return the status of /readyz and what it says of the database."""
    reply = httpx.get(f"{server.url}/readyz", timeout=30)
    return reply.status_code, reply.json()["checks"]["database"]


def test_the_service_is_unready_while_the_disk_takes_no_decision(server: Deployment, keys: Iterator[str]) -> None:
    """PostgreSQL only: a limit on the size of files has no error code of its own."""
    if server.postgres is None:
        pytest.skip("needs PostgreSQL")
    ledger = Ledger(server, next(keys))
    with ledger.load() as load:
        load.wait_for(100)
        assert database_of(server) == (200, "ok")
        with server.full_disk():
            assert eventually(lambda: database_of(server) == (503, "disk_full"))
        assert eventually(lambda: database_of(server) == (200, "ok"), DISK_FULL_SECONDS + 20)
    assert ledger.discrepancies() == []


def test_a_full_disk_gives_enveloped_503s_and_loses_nothing_that_was_answered(server, keys):
    ledger = Ledger(server, next(keys))
    fill(server, next(keys))
    with ledger.load() as load:
        load.wait_for(100)
        server.let_files_grow_to(reached(server))
        assert eventually(lambda: statuses(load.replies).get(503, 0) >= 50)
        item = ledger.client.get(f"/v1/content/{ledger.items['item']}")
        server.let_files_grow_to(None)
        load.wait_for_success()

    assert item.status_code == 200  # reads still work
    assert set(statuses(load.replies)) <= {200, 503}
    assert ledger.discrepancies() == []
