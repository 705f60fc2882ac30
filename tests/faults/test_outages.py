"""Redis and PostgreSQL going away under load (contract §5): callers see no more than a 503."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.faults.harness import Deployment, eventually, stay_within_the_minute
from tests.faults.traffic import Load, at_once, request, statuses, under_load

pytestmark = pytest.mark.faults

HEALING_SECONDS = 30

ALLOW_ALL = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}


def new_item(server: Deployment, key: str) -> str:
    with server.client(key) as client:
        policy = client.post("/v1/policies", json={"name": "Open", "rules": [ALLOW_ALL]}).json()["id"]
        return client.post("/v1/content", json={"title": "Item", "policyId": policy}).json()["id"]


def mixed(item: str, writer: str) -> Any:
    """What `under_load` sends: checks and reads of one account, writes with the key of another."""

    def send(client: httpx.Client, number: int) -> httpx.Response:
        if number % 4 == 0:
            return client.get("/v1/content", params={"limit": 5})
        if number % 4 == 1:
            headers = {"Authorization": f"Bearer {writer}"}
            return client.post("/v1/content", json={"title": "Made under load"}, headers=headers)
        return client.post("/v1/access/check", json={"contentId": item, "requester": f"org_{number}"})

    return send


def counted_in(server: Deployment) -> str:
    """Where a worker says that requests are counted."""
    return httpx.get(f"{server.url}/readyz").json()["checks"]["limits"]


def all_count_in_redis(server: Deployment, workers: list[httpx.Client]) -> bool:
    for worker in workers:  # a worker learns of it when it counts
        worker.get("/v1/content")
    return all(worker.get("/readyz").json()["checks"]["limits"] == "redis" for worker in workers)


def test_killing_redis_under_load_gives_no_error_and_counting_is_shared_again_when_it_returns(
    server: Deployment, key: str, keys: Iterator[str]
) -> None:
    assert server.valkey
    (_, before), (_, during), (_, after) = server.accounts(3, plan="starter")
    item, log_begin = new_item(server, key), len(server.log())
    workers = server.client_of_each_worker(key)
    stay_within_the_minute()
    assert statuses(at_once(server, [request("GET", "/v1/content", before)] * 100)) == {200: 60, 429: 40}

    with under_load(server, key, mixed(item, next(keys))) as load:
        load.wait_for(50)
        server.valkey.kill()
        load.wait_for(100)

        ready = [worker.get("/readyz") for worker in workers]
        assert {reply.status_code for reply in ready} == {200}
        assert any("Redis" in reply.json()["checks"]["limits"] for reply in ready)
        stay_within_the_minute()
        with server.client(during, limits=httpx.Limits(max_connections=1)) as one_worker:
            assert statuses(one_worker.get("/v1/content") for _ in range(70)) == {200: 60, 429: 10}
        passed = statuses(at_once(server, [request("GET", "/v1/content", during)] * 400)).get(200, 0)
        assert passed <= 60 * 3  # each of the other workers has a count of its own

        server.valkey.start()
        assert eventually(lambda: all_count_in_redis(server, workers))
        load.wait_for(50)
    stay_within_the_minute()
    assert statuses(at_once(server, [request("GET", "/v1/content", after)] * 400)) == {200: 60, 429: 340}

    assert [reply.text for reply in load.replies if reply.status_code >= 500] == []
    assert (load.unanswered, load.refused) == (0, 0)
    said = server.log()[log_begin:]
    assert "Redis does not answer" in said
    assert "Redis is back" in said


def test_what_is_revoked_or_changed_while_redis_is_away_holds_at_once_in_every_process(
    server: Deployment, key: str
) -> None:
    assert server.valkey
    workers = server.client_of_each_worker(key)
    policy = workers[0].post("/v1/policies", json={"name": "Open", "rules": [ALLOW_ALL]}).json()["id"]
    item = workers[0].post("/v1/content", json={"title": "Item", "policyId": policy}).json()["id"]
    check = {"contentId": item, "requester": "org_acme"}
    keys = [workers[0].post("/v1/api-keys", json={"name": "n", "type": "secret"}).json() for _ in range(10)]
    for worker in workers:
        for one in keys:
            headers = {"Authorization": f"Bearer {one['key']}"}
            assert worker.post("/v1/access/check", json=check, headers=headers).json()["allowed"]
    server.valkey.kill()

    for number, one in enumerate(keys):
        editor = workers[number % len(workers)]
        assert editor.delete(f"/v1/api-keys/{one['id']}").status_code == 200
        rules = [] if number % 2 == 0 else [ALLOW_ALL]
        assert editor.patch(f"/v1/policies/{policy}", json={"rules": rules}).status_code == 200
        for worker in workers:
            headers = {"Authorization": f"Bearer {one['key']}"}
            assert worker.post("/v1/access/check", json=check, headers=headers).status_code == 401
            assert worker.post("/v1/access/check", json=check).json()["allowed"] is bool(rules)


def answers_without_fail(load: Load) -> bool:
    """Whether the next 300 requests of a load succeed."""
    begin = len(load.replies)
    load.wait_for(300, seconds=HEALING_SECONDS)
    return all(reply.status_code < 500 for reply in load.replies[begin:])


@pytest.mark.parametrize("how", ["restart", "crash"])
def test_restarting_postgresql_under_load_gives_at_most_enveloped_503s_and_heals_by_itself(
    server: Deployment, key: str, keys: Iterator[str], how: str
) -> None:
    assert server.postgres
    item = new_item(server, key)
    with under_load(server, key, mixed(item, next(keys))) as load:
        load.wait_for(50)
        if how == "restart":
            server.postgres.stop("fast")
        else:
            server.postgres.kill()
        time.sleep(1)
        ready = httpx.get(f"{server.url}/readyz", timeout=30)
        server.postgres.start()

        # Not at once: a pooled connection that died shows it when it is used, and the pool waits between attempts.
        assert eventually(lambda: answers_without_fail(load), HEALING_SECONDS)

    assert ready.status_code == 503
    assert set(statuses(load.replies)) <= {200, 201, 503}
    assert (load.unanswered, load.refused) == (0, 0)
    for reply in load.replies:
        if reply.status_code == 503:
            assert reply.json()["error"]["code"] == "service_unavailable"
            assert {"x-request-id", "x-ratelimit-limit", "retry-after"} <= set(reply.headers)
    checks = [reply.json() for reply in load.replies if reply.request.url.path == "/v1/access/check"]
    acknowledged = [check["id"] for check in checks if "id" in check]
    with server.client(key) as client:
        shown = eventually(lambda: successful(client.get(f"/v1/content/{item}")))
        page = eventually(lambda: successful(client.get("/v1/access/decisions", params={"contentId": item})))
    assert shown["stats"]["totalRequests"] == page["totalCount"] >= len(acknowledged)


def successful(reply: httpx.Response) -> Any:
    """The reply's body, unless it is an error."""
    return reply.json() if reply.status_code == 200 else None
