"""What one worker process is told holds in all of them at once (contract §4): the very next request sees it."""

from collections.abc import Iterator
from itertools import cycle
from typing import Any

import httpx
import pytest

from tests.faults.harness import Deployment

pytestmark = pytest.mark.faults

ALLOW_ALL = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}


@pytest.fixture
def workers(server: Deployment, key: str) -> Iterator[list[httpx.Client]]:
    """Clients of different worker processes, with a key that may do everything."""
    clients = server.client_of_each_worker(key)
    assert len(clients) > 1, "Only one worker answers, so nothing here would be proved."
    yield clients
    for client in clients:
        client.close()


addresses = (f"10.0.{high}.{low}" for high in range(256) for low in range(256))


def bearer(key: str) -> dict[str, str]:
    """Headers with the key, from an address of their own: refused requests count against their address."""
    return {"Authorization": f"Bearer {key}", "X-Forwarded-For": next(addresses)}


def test_a_key_revoked_through_one_process_is_refused_by_the_others_in_the_next_request(
    workers: list[httpx.Client],
) -> None:
    for _, revoker in zip(range(50), cycle(workers), strict=False):
        created = revoker.post("/v1/api-keys", json={"name": "short-lived", "type": "secret"}).json()
        for worker in workers:  # each has the key in use, and may have cached what it grants
            assert worker.get("/v1/content", headers=bearer(created["key"])).status_code == 200

        assert revoker.delete(f"/v1/api-keys/{created['id']}").status_code == 200
        for worker in workers:
            reply = worker.get("/v1/content", headers=bearer(created["key"]))
            assert reply.json()["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"dryRun": True},
        {"contentId": "cnt_00000000000000000000000000"},  # there is none
        {"requester": None},  # not a valid check
    ],
    ids=["check", "dry run", "unknown item", "invalid"],
)
def test_a_revoked_key_checks_no_access_in_any_process(workers: list[httpx.Client], body: dict[str, Any]) -> None:
    item = workers[0].post("/v1/content", json={"title": "Item"}).json()["id"]
    check = {"contentId": item, "requester": "org_acme"}
    answered = []
    for _, revoker in zip(range(20), cycle(workers), strict=False):
        created = revoker.post("/v1/api-keys", json={"name": "short-lived", "type": "secret"}).json()
        for worker in workers:
            reply = worker.post("/v1/access/check", json=check, headers=bearer(created["key"]))
            assert reply.status_code == 200

        assert revoker.delete(f"/v1/api-keys/{created['id']}").status_code == 200
        for worker in workers:
            reply = worker.post("/v1/access/check", json=check | body, headers=bearer(created["key"]))
            answered += [(reply.status_code, reply.text)] if reply.status_code != 401 else []

    assert answered == []


def test_a_key_revoked_by_a_command_is_refused_by_every_process_in_the_next_request(
    server: Deployment, workers: list[httpx.Client]
) -> None:
    for _ in range(5):
        created = workers[0].post("/v1/api-keys", json={"name": "short-lived", "type": "secret"}).json()
        for worker in workers:
            assert worker.get("/v1/content", headers=bearer(created["key"])).status_code == 200

        assert server.manage("revoke_api_key", created["id"])["id"] == created["id"]
        for worker in workers:
            reply = worker.get("/v1/content", headers=bearer(created["key"]))
            assert reply.json()["error"]["code"] == "invalid_api_key"


def test_a_policy_changed_through_one_process_decides_the_next_check_in_the_others(
    workers: list[httpx.Client],
) -> None:
    policy = workers[0].post("/v1/policies", json={"name": "Open", "rules": [ALLOW_ALL]}).json()["id"]
    item = workers[0].post("/v1/content", json={"title": "Item", "policyId": policy}).json()["id"]
    check = {"contentId": item, "requester": "org_acme"}
    for number, editor in zip(range(50), cycle(workers), strict=False):
        rules = [] if number % 2 == 0 else [ALLOW_ALL]
        version = editor.patch(f"/v1/policies/{policy}", json={"rules": rules}).json()["version"]

        answers = [worker.post("/v1/access/check", json=check).json() for worker in workers]
        assert {answer["policyVersion"] for answer in answers} == {version}
        assert {answer["allowed"] for answer in answers} == {bool(rules)}


def test_an_item_changed_through_one_process_is_checked_as_it_is_now_in_the_others(
    workers: list[httpx.Client],
) -> None:
    policy = workers[0].post("/v1/policies", json={"name": "Open", "rules": [ALLOW_ALL]}).json()["id"]
    item = workers[0].post("/v1/content", json={"title": "Item", "policyId": policy}).json()["id"]
    check = {"contentId": item, "requester": "org_acme"}
    for number, editor in zip(range(20), cycle(workers), strict=False):
        status = "archived" if number % 2 == 0 else "active"
        assert editor.patch(f"/v1/content/{item}", json={"status": status}).status_code == 200

        reasons = {worker.post("/v1/access/check", json=check).json()["reason"] for worker in workers}
        assert reasons == {"content_archived" if status == "archived" else None}

    assert workers[1].delete(f"/v1/content/{item}").status_code == 200
    assert [worker.post("/v1/access/check", json=check).status_code for worker in workers] == [404] * len(workers)
