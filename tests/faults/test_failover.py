"""A standby of PostgreSQL that lacks commits is promoted (docs/guides/deployment.md, A standby)."""

from typing import Any

import psycopg
import pytest

from tests.factories import ALLOW_ALL, LICENSED
from tests.faults.harness import deployed, eventually
from tests.services import Postgres, postgres, standby, valkey

pytestmark = pytest.mark.faults


def test_after_promoting_a_standby_that_lacks_commits_no_process_decides_by_them(tmp_path):
    with postgres(fsync=False) as primary, standby(primary) as heir, valkey() as redis:
        url = url_of(primary, heir)
        with deployed(tmp_path, workers=1, postgres=primary, valkey=redis, DATABASE_URL=url) as server:
            [(key, _)] = server.accounts(1)
            publisher = server.client(key)
            policy = publisher.policy(LICENSED)
            item = publisher.create("/v1/content", title="Item", policyId=policy)
            assert not publisher.check(item, "org_early").json()["allowed"]
            unfollow(primary, heir)
            lost = publisher.post("/v1/api-keys", json={"name": "Lost", "type": "secret"}).json()["key"]
            assert publisher.patch(f"/v1/policies/{policy}", json={"rules": [ALLOW_ALL]}).json()["version"] == 2
            assert server.client(lost).check(item, "org_lost").json()["allowed"]
            primary.kill()
            execute(heir, "SELECT pg_promote()")
            assert eventually(server.is_ready)

            # The new primary gives the same epoch, version and requester number to others.
            rule = LICENSED | {"permissions": ["preview"]}
            assert publisher.patch(f"/v1/policies/{policy}", json={"rules": [rule]}).json()["version"] == 2
            licence = {"requesterId": "org_new", "licenseType": "commercial"}
            assert publisher.post("/v1/licenses", json=licence).status_code == 201
            eventually(lambda: publisher.check(item, "org_lost").status_code == 200)
            decided = publisher.check(item, "org_lost").json()
            recorded = publisher.get(f"/v1/access/decisions/{decided['id']}").json()
            by_lost_key = server.client(lost).check(item, "org_lost")

            assert (decided["allowed"], recorded["requester"]["id"]) == (False, "org_lost")
            assert by_lost_key.status_code == 401


def url_of(*servers: Postgres) -> str:
    """Return the URL of whichever server takes writes."""
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"


def unfollow(primary: Postgres, standby: Postgres) -> None:
    """Let a standby stop following, with all commits up to now."""
    with psycopg.connect(primary.url, autocommit=True) as connection:
        [[position]] = connection.execute("SELECT pg_current_wal_lsn()::text").fetchall()
    assert eventually(lambda: execute(standby, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"))
    execute(standby, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
    assert eventually(lambda: execute(standby, "SELECT count(*) = 0 FROM pg_stat_wal_receiver"))


def execute(server: Postgres, *statements: str) -> Any:
    """Return the first value of the last statement."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            result = connection.execute(statement)  # type: ignore[arg-type]
        return result.fetchone()[0]
