"""Plan limits in a Valkey Cluster: exact in all slots, also during a failover (docs/guides/deployment.md)."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx
import pytest

from accounts.limits.redis_counters import redis_key
from accounts.limits.windows import ACCOUNT
from tests.faults.harness import Deployment, deployed, eventually
from tests.faults.shared_limits import LIMIT, WORKERS, how_many_pass, requests_of, wait_for_redis
from tests.faults.traffic import in_groups, request
from tests.services import Cluster, Valkey, postgres, valkey_cluster

pytestmark = pytest.mark.faults

CLIENTS = 16
SECONDS = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with valkey_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("clustered")
    with (
        postgres(fsync=False) as database,
        deployed(directory, workers=WORKERS, postgres=database, REDIS_URL=cluster.url) as server,
    ):
        yield server


def accounts(server: Deployment, cluster: Cluster, limit: int) -> dict[int, list[str]]:
    """Return keys of new accounts, by the port of the primary that counts them: so many that each has two."""
    found: dict[int, list[str]] = {}
    for account, key, _ in server.ask_shell("accounts", 60, requests_per_day=limit):
        found.setdefault(cluster.primary_of(redis_key(ACCOUNT + account)).port, []).append(key)
    return found


def pass_amid(server: Deployment, key: str, limit: int, event: Callable[[], None]) -> int:
    """Send twice as many requests as the limit from several clients; return how many pass.

    The event happens when half of the limit is used, so that the limit is reached after it.
    """
    used = Event()

    def requests() -> Iterator[bytes]:
        for number, one in enumerate(requests_of(key, 2 * limit)):
            if number == limit // 2:
                used.set()
            yield one

    with ThreadPoolExecutor(1) as thread:
        load = thread.submit(in_groups, server, requests(), CLIENTS)
        assert used.wait(SECONDS)
        event()
        return how_many_pass(load.result())


def fail_over(cluster: Cluster, primary: Valkey) -> None:
    """Promote the primary's replica, and return once it serves."""
    replica = cluster.replica_of(primary)
    with replica.client() as client:
        client.execute_command("CLUSTER FAILOVER")
    assert eventually(lambda: cluster.is_primary(replica))


def test_accounts_of_all_primaries_have_exact_limits(cluster: Cluster, server: Deployment) -> None:
    keys = accounts(server, cluster, LIMIT)
    assert len(keys) == 3

    requests = [one for group in keys.values() for key in group[:2] for one in requests_of(key, 100)]
    assert how_many_pass(in_groups(server, requests, CLIENTS)) == 6 * LIMIT


def test_public_keys_have_an_exact_share_of_their_own(cluster: Cluster, server: Deployment) -> None:
    _, [key, *_] = accounts(server, cluster, LIMIT).popitem()
    bearer = {"Authorization": f"Bearer {key}"}
    made = httpx.post(f"{server.url}/v1/api-keys", json={"name": "Page", "type": "public"}, headers=bearer).json()

    readings = [request("GET", "/v1/content", made["key"])] * 50
    assert how_many_pass(in_groups(server, readings, CLIENTS)) == LIMIT // 2
    assert how_many_pass(in_groups(server, requests_of(key, 100), CLIENTS)) == LIMIT - 1


def test_a_limit_is_exact_through_a_failover(cluster: Cluster, server: Deployment) -> None:
    limit = 600
    port, [key, *_] = accounts(server, cluster, limit).popitem()
    primary = cluster.node_on(port)

    assert pass_amid(server, key, limit, lambda: fail_over(cluster, primary)) == limit
    assert not cluster.is_primary(primary)


def test_a_killed_primary_exceeds_limits_of_its_slots_only_and_at_most_by_each_process_once(cluster, server):
    limit = 600
    keys = accounts(server, cluster, limit)
    (port, [key, *_]), (_, [other, *_]), *_ = keys.items()
    with server.client_of_each_worker(other) as workers:
        primary = cluster.node_on(port)
        assert cluster.is_primary(primary)
        passed = pass_amid(server, key, limit, primary.kill)
        elsewhere = how_many_pass(in_groups(server, requests_of(other, 2 * limit), CLIENTS))
        wait_for_redis(workers)
        passed += how_many_pass(in_groups(server, requests_of(key, 100), CLIENTS))

    assert limit <= passed <= limit * (1 + WORKERS)
    assert elsewhere == limit
    assert "Redis is back" in server.log()
