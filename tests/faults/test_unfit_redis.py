"""`serve` refuses real servers that would count limits wrongly, and says how to fix it."""

from collections.abc import Iterator

import pytest
from django.core.management import CommandError
from django.test import override_settings

from accounts.limits.limiter import Limiter
from config.management.commands.serve import check_redis
from tests.services import Watched, valkey, valkey_cluster, valkey_sentinel

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with valkey_sentinel() as watched:
        yield watched


def refusal_of(url: str) -> str:
    with override_settings(REDIS_URL=url), pytest.raises(CommandError) as refusal:
        check_redis()
    return str(refusal.value)


def test_a_primary_is_fit_and_a_replica_a_sentinel_and_a_wrong_name_are_refused(watched: Watched):
    for url in (watched.url, watched.url.removesuffix("/0"), watched.primary.url):
        with override_settings(REDIS_URL=url):
            check_redis()
    assert "leads to a read-only replica" in refusal_of(watched.replica.url)
    assert "Write redis+sentinel://host:26379/NAME/0" in refusal_of(watched.sentinels[0].url)
    assert "watches a primary of this name" in refusal_of(watched.url.replace("mymaster", "other"))
    assert "no Sentinels" in refusal_of(f"redis+sentinel://127.0.0.1:{watched.primary.port}/mymaster")

    with override_settings(REDIS_URL=watched.replica.url):
        limiter = Limiter()
        limiter.inspect()
        assert limiter.state() == "replica"


def test_a_server_that_evicts_keys_is_refused():
    with valkey("--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru") as server:
        assert "Set maxmemory-policy noeviction" in refusal_of(server.url)


def test_one_node_of_a_cluster_and_a_cluster_without_all_slots_are_refused():
    with valkey("--cluster-enabled", "yes") as node:
        assert "one node of a Cluster" in refusal_of(node.url)
        assert "slots without a primary" in refusal_of(f"redis+cluster://127.0.0.1:{node.port}")


def test_servers_whose_user_may_not_inspect_them_are_taken_as_they_are():
    with valkey_cluster(1) as cluster, valkey() as server:
        for node in (cluster.nodes[0], server):
            with node.client() as client:
                client.execute_command("ACL SETUSER limited on >secret ~* +@all -info -cluster|info")
        for url in (cluster.url, server.url):
            with override_settings(REDIS_URL=url.replace("://", "://limited:secret@")):
                check_redis()
                limiter = Limiter()
                limiter.inspect()
                assert limiter.state() == "redis"


def test_a_cluster_that_is_none_or_evicts_keys_is_refused():
    with valkey() as server:
        assert "without cluster mode" in refusal_of(f"redis+cluster://127.0.0.1:{server.port}")
    with valkey_cluster(1) as cluster:
        with override_settings(REDIS_URL=cluster.url):
            check_redis()
        with cluster.nodes[0].client() as client:
            client.config_set("maxmemory", "100mb")
            client.config_set("maxmemory-policy", "allkeys-lru")
        assert "Set maxmemory-policy noeviction" in refusal_of(cluster.url)
