"""Outages of Redis and PostgreSQL under load (docs/reference/api.md, Limits): callers get a 503 at worst.

FAULT_REDIS_SECONDS sets the minimum length of Redis's outage.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import Api, Deployment, eventually, within_a_minute
from tests.faults.ledger import Ledger
from tests.faults.traffic import at_once, in_groups, reply_on, request, statuses
from tests.services import Valkey

pytestmark = pytest.mark.faults

REDIS_SECONDS = float(os.environ.get("FAULT_REDIS_SECONDS") or 0)
LISTING = ("GET", "/v1/content")
CHECK = ("POST", "/v1/access/check", {"contentId": "cnt_00000000000000000000000000", "requester": "org_acme"})


def listings_and_checks(key: str, count: int) -> list[bytes]:
    """Return requests that count towards limits: half run in threads, half on the event loop."""
    return [request(method, path, key, *body) for method, path, *body in (LISTING, CHECK) for _ in range(count // 2)]


def how_many_pass(server: Deployment, key: str, count: int) -> dict[str, int]:
    """Send requests simultaneously; return how many pass."""
    replies = at_once(server, listings_and_checks(key, count))
    return dict(Counter("refused" if reply.status == 429 else "passed" for reply in replies))


def where_all_count(workers: list[httpx.Client]) -> set[str]:
    """Return where the workers count requests, as their /readyz reports it. All must be ready."""
    for worker in workers:  # a worker notices the outage when it counts
        assert worker.get("/v1/content").status_code == 200
    ready = [worker.get("/readyz") for worker in workers]
    assert {reply.status_code for reply in ready} == {200}
    return {reply.json()["checks"]["limits"] for reply in ready}


async def of_each_worker(server: Deployment, key: str, connections: int = 10, each: int = 20) -> dict[int, int]:
    """Return how many simultaneous requests each worker let pass, on keep-alive connections."""
    passed: Counter[int] = Counter()
    livez = request("GET", "/livez", key, Connection="keep-alive")

    async def send(worker: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for number in range(each):
            method, path, *body = (LISTING, CHECK)[number % 2]
            reply = await reply_on(reader, writer, request(method, path, key, *body, Connection="keep-alive"))
            assert reply.status in (200, 404, 429)
            passed[worker] += reply.status != 429
        writer.close()

    senders = []
    for worker in server.each_worker_alone():
        for _ in range(connections):
            pair = await asyncio.open_connection("127.0.0.1", server.port)
            assert (await reply_on(*pair, livez)).status == 200  # it has accepted the connection
            senders.append(send(worker, *pair))
    await asyncio.gather(*senders)
    return dict(passed)


def limit_memory(valkey: Valkey, size: str) -> None:
    with valkey.client() as client:
        client.config_set("maxmemory", size)


OUTAGES: dict[str, tuple[Callable[[Valkey], None], Callable[[Valkey], None]]] = {
    "killed": (Valkey.kill, Valkey.start),
    "its memory is full": (lambda valkey: limit_memory(valkey, "1"), lambda valkey: limit_memory(valkey, "0")),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_an_outage_of_redis_under_load_loses_nothing_and_limits_hold_exactly_in_each_process_until_it_returns(
    server: Deployment, key: str, outage: str
) -> None:
    assert server.valkey
    begin, end = OUTAGES[outage]
    ledger, log_begin = Ledger(server, key), len(server.log())
    with server.client_of_each_worker(key) as workers:
        assert within_a_minute(server, lambda key, _: how_many_pass(server, key, 100)) == {"passed": 60, "refused": 40}

        with ledger.load(per_second=200) as load:
            load.wait_for(100)
            begin(server.valkey)
            load.wait_for(300)

            assert where_all_count(workers) == {"per process: Redis does not answer"}
            counted = within_a_minute(server, lambda key, _: asyncio.run(of_each_worker(server, key)))
            assert list(counted.values()) == [60] * server.workers

            time.sleep(REDIS_SECONDS)  # 0 unless the variable sets it
            end(server.valkey)
            assert eventually(lambda: where_all_count(workers) == {"redis"})
            load.wait_for(100)
        after = within_a_minute(server, lambda key, _: how_many_pass(server, key, 400))
        assert after == {"passed": 60, "refused": 340}

    assert set(statuses(load.replies)) == {200}
    assert load.refused == 0
    assert ledger.discrepancies() == []
    said = server.log()[log_begin:]
    assert "Redis does not answer" in said
    assert "Redis is back" in said


def test_a_redis_that_was_restarted_unseen_counts_for_all_processes_from_the_first_request(server, key):
    assert server.valkey
    valkey = server.valkey

    def after_a_restart(limited: str, other: str) -> dict[str, int]:
        in_groups(server, listings_and_checks(key, 200), 20)  # every worker has used its connections
        valkey.kill()
        valkey.start()
        return how_many_pass(server, limited, 400)

    assert within_a_minute(server, after_a_restart) == {"passed": 60, "refused": 340}


@pytest.mark.parametrize(("options", "passed"), [([], 60), (["--appendonly", "yes"], 0)], ids=["", "append-only"])
def test_a_restart_of_redis_begins_limits_anew_unless_it_has_an_append_only_file(server, options, passed):
    assert server.valkey
    valkey = server.valkey

    def restart() -> None:
        valkey.kill()
        valkey.start()

    def after_a_restart(limited: str, other: str) -> int:
        assert how_many_pass(server, limited, 100) == {"passed": 60, "refused": 40}
        restart()
        return how_many_pass(server, limited, 100).get("passed", 0)

    usual = list(valkey.arguments)
    valkey.arguments.extend(options)
    restart()
    try:
        assert within_a_minute(server, after_a_restart) == passed
    finally:
        valkey.arguments[:] = usual


def test_changes_during_an_outage_of_redis_hold_at_once_in_every_process(server: Deployment, key: str) -> None:
    assert server.valkey
    with server.client_of_each_worker(key) as workers:
        policy = workers[0].policy(ALLOW_ALL)
        item = workers[0].create("/v1/content", title="Item", policyId=policy)
        made = [workers[0].post("/v1/api-keys", json={"name": "n", "type": "secret"}).json() for _ in range(10)]
        for worker in workers:
            for one in made:
                assert check_with(one["key"], worker, item).json()["allowed"]
        server.valkey.kill()

        for number, one in enumerate(made):
            editor = workers[number % len(workers)]
            assert editor.delete(f"/v1/api-keys/{one['id']}").status_code == 200
            rules = [] if number % 2 == 0 else [ALLOW_ALL]
            assert editor.patch(f"/v1/policies/{policy}", json={"rules": rules}).status_code == 200
            for worker in workers:
                assert check_with(one["key"], worker, item).status_code == 401
                assert worker.check(item).json()["allowed"] is bool(rules)


def check_with(key: str, worker: Api, item: str) -> httpx.Response:
    body = {"contentId": item, "requester": "org_acme"}
    return worker.post("/v1/access/check", json=body, headers={"Authorization": f"Bearer {key}"})


def test_restarting_postgresql_under_load_gives_at_most_enveloped_503s_and_heals_by_itself(server, key):
    assert server.postgres
    ledger = Ledger(server, key)
    with ledger.load() as load:
        load.wait_for(200)
        server.postgres.stop("fast")
        ready = httpx.get(f"{server.url}/readyz", timeout=30)
        server.postgres.start()
        load.wait_for_success()

    assert ready.status_code == 503
    assert set(statuses(load.replies)) <= {200, 503}
    assert load.refused == 0
    assert ledger.discrepancies() == []


def test_a_postgresql_that_was_restarted_unseen_fails_no_request(server: Deployment, key: str) -> None:
    assert server.postgres
    with server.client_of_each_worker(key) as workers:
        item = workers[0].item()
        for worker in workers:  # every worker has used its connections
            assert worker.check(item).status_code == 200
            assert worker.get("/v1/content").status_code == 200
        server.postgres.stop("fast")
        server.postgres.start()

        assert [worker.get("/v1/content").status_code for worker in workers] == [200] * len(workers)
        assert [worker.check(item).status_code for worker in workers] == [200] * len(workers)


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "unseen"])
def test_an_item_that_no_process_knows_yet_is_looked_up_again_when_postgresql_is_back(server, key, seen):
    assert server.postgres
    with server.client_of_each_worker(key) as workers:
        policy = workers[0].policy(ALLOW_ALL)
        items = [workers[0].create("/v1/content", title="Item", policyId=policy) for _ in range(3)]

        def statuses_of(item: str) -> list[int]:
            return [worker.check(item).status_code for worker in workers]

        for item in items[:2]:  # then requester and policy are known, and items are looked up on the loop
            assert statuses_of(item) == [200] * len(workers)
        server.postgres.stop("fast")
        if seen:
            assert statuses_of(items[2]) == [503] * len(workers)
        server.postgres.start()
        if seen:  # each process waits before it connects again
            for worker in workers:
                assert eventually(lambda worker=worker: worker.get("/readyz").status_code == 200)
        assert statuses_of(items[2]) == [200] * len(workers)


def test_readyz_names_a_hang_of_postgresql_although_it_was_restarted_before(server: Deployment, key: str) -> None:
    assert server.postgres
    causes: set[str] = set()

    def database_of(worker: httpx.Client) -> str:
        return str(worker.get("/readyz").json()["checks"]["database"])

    def recovers(worker: httpx.Client) -> bool:
        return eventually(lambda: database_of(worker) == "ok")

    def names_the_hang(worker: httpx.Client) -> bool:
        causes.add(cause := database_of(worker))
        return cause == "timeout"

    with server.client_of_each_worker(key) as workers, ThreadPoolExecutor(len(workers)) as threads:
        server.postgres.stop("fast")
        assert "ok" not in threads.map(database_of, workers)  # each process notes why it cannot connect
        server.postgres.start()
        assert all(threads.map(recovers, workers))
        assert server.postgres.process
        parent = psutil.Process(server.postgres.process.pid)
        hung = [parent, *parent.children(recursive=True)]
        for process in hung:
            process.suspend()
        try:
            each_named = list(threads.map(lambda worker: eventually(lambda: names_the_hang(worker)), workers))
        finally:
            for process in hung:
                process.resume()
    assert all(each_named), causes
    assert causes <= {"timeout", "unreachable"}  # an attempt to connect may have been refused before the hang
