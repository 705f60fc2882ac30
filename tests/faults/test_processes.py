"""A change in one worker process takes effect in all for the next request (docs/reference/api.md).

FAULT_ROUNDS sets the number of rounds.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from threading import Event
from typing import Any

import httpx
import pytest

from tests.factories import ALLOW_ALL, DENY_ALL, LICENSED
from tests.faults.conftest import WORKERS
from tests.faults.harness import Api, Deployment

pytestmark = pytest.mark.faults

ROUNDS = int(os.environ.get("FAULT_ROUNDS") or 5 * WORKERS)
NO_ITEM = "cnt_00000000000000000000000000"
numbers = count()


@pytest.fixture
def workers(server: Deployment, key: str) -> Iterator[list[Api]]:
    """A client for each worker process, with a key that has all permissions. Other items change all the time."""
    with server.client_of_each_worker(key) as clients, other_changes(server, key):
        assert len(clients) == server.workers
        yield clients


@contextmanager
def other_changes(server: Deployment, key: str) -> Iterator[None]:
    """Change an item some fifty times a second."""
    ended = Event()

    def edit() -> int:
        with server.client(key) as client:
            path, made = client.post("/v1/content", json={"title": "Another"}).headers["Location"], 0
            while not ended.wait(0.02):
                assert client.patch(path, json={"title": f"Another {made}"}).status_code == 200
                made += 1
            return made

    with ThreadPoolExecutor(1) as thread:
        edited = thread.submit(edit)
        try:
            yield
        finally:
            ended.set()
        assert edited.result()


@pytest.fixture
def item(workers: list[Api]) -> dict[str, Any]:
    """Create an item under a new policy that allows everything."""
    return workers[0].get(f"/v1/content/{workers[0].item()}").json()


def in_turn(workers: list[Api]) -> Iterator[tuple[int, Api]]:
    """Yield rounds, each with the worker that makes the change."""
    return enumerate(islice(cycle(workers), ROUNDS))


def check(item: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"contentId": item["id"], "requester": "org_acme", **fields}


def bearer(key: str) -> dict[str, str]:
    """Return headers with the key and a unique address, because refused requests count against their address."""
    number = next(numbers)
    return {"Authorization": f"Bearer {key}", "X-Forwarded-For": f"10.0.{number // 256}.{number % 256}"}


def new_key(worker: httpx.Client) -> dict[str, Any]:
    return worker.post("/v1/api-keys", json={"name": "short-lived", "type": "secret"}).json()


# Requests that show whether a key works: path and, for POST, body.
SENT: dict[str, Callable[[dict[str, Any]], tuple[Any, ...]]] = {
    "list": lambda item: ("/v1/content",),
    "check": lambda item: ("/v1/access/check", check(item)),
    "batch": lambda item: ("/v1/access/check/batch", {"requester": "org", "checks": [{"contentId": item["id"]}]}),
    "dry run": lambda item: ("/v1/access/check", check(item, dryRun=True)),
    "unknown item": lambda item: ("/v1/access/check", check({"id": NO_ITEM})),
    "invalid check": lambda item: ("/v1/access/check", check(item, requester=None)),
}


def send(worker: httpx.Client, key: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
    method = "GET" if body is None else "POST"
    return worker.request(method, path, json=body, headers=bearer(key))


def assert_refused(reply: httpx.Response) -> None:
    assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")


@pytest.mark.parametrize("request_for", SENT.values(), ids=SENT)
def test_a_key_revoked_through_one_process_is_refused_by_all_in_the_next_request(workers, item, request_for):
    for _, revoker in in_turn(workers):
        created = new_key(revoker)
        for worker in workers:  # each uses the key, and may have cached its grant
            assert send(worker, created["key"], *request_for(item)).status_code != 401

        assert revoker.delete(f"/v1/api-keys/{created['id']}").status_code == 200
        for worker in workers:
            assert_refused(send(worker, created["key"], *request_for(item)))


def test_a_key_revoked_by_a_command_is_refused_by_every_process_in_the_next_request(server, workers, item):
    for number, maker in in_turn(workers):
        created, request_for = new_key(maker), SENT["list" if number % 2 else "check"]
        for worker in workers:
            assert send(worker, created["key"], *request_for(item)).status_code == 200

        assert server.manage("revoke_api_key", created["id"])["id"] == created["id"]
        for worker in workers:
            assert_refused(send(worker, created["key"], *request_for(item)))


def test_a_policy_changed_through_one_process_decides_the_next_check_in_all(workers, item):
    for number, editor in in_turn(workers):
        rules = [] if number % 2 == 0 else [ALLOW_ALL]
        version = editor.patch(f"/v1/policies/{item['policyId']}", json={"rules": rules}).json()["version"]

        for worker in workers:
            answer = worker.check(item["id"]).json()
            assert (answer["policyVersion"], answer["allowed"]) == (version, bool(rules))


VISIT = {"X-Forwarded-Host": "pub.example", "X-Forwarded-Uri": "/premium/x", "X-Forwarded-For": "192.0.2.1"}
# What a visitor sends in vain, and the status while the site enforces. Nothing is recorded then.
IN_VAIN = {
    "token": ({"Authorization": "License a.b.c"}, 401),
    "price": ({"Authorization": "", "Crawler-Max-Price": "many"}, 400),
}


@pytest.mark.parametrize(("sent", "refused"), IN_VAIN.values(), ids=IN_VAIN)
def test_a_refused_token_or_price_follows_a_change_through_one_process_in_all(server, workers, key, sent, refused):
    policy = workers[0].policy(DENY_ALL)
    rules = [{"pattern": "/*", "policyId": policy}]
    site = workers[0].create("/v1/sites", host="pub.example", rules=rules, mode="enforce")

    def visit(worker: httpx.Client, headers: dict[str, str]) -> int:
        return worker.get("/v1/access/forward", headers={**VISIT, "X-Licensing-Key": key, **headers}).status_code

    for _, changer in in_turn(workers):
        for worker in workers:
            assert (visit(worker, {"Authorization": ""}), visit(worker, sent)) == (403, refused)
        for path, closed, opened in (
            (f"/v1/sites/{site}", {"mode": "enforce"}, {"mode": "observe"}),
            (f"/v1/policies/{policy}", {"rules": [DENY_ALL]}, {"rules": [ALLOW_ALL]}),
        ):
            assert changer.patch(path, json=opened).status_code == 200
            assert [visit(worker, sent) for worker in workers] == [200] * len(workers)
            assert changer.patch(path, json=closed).status_code == 200
            assert [visit(worker, sent) for worker in workers] == [refused] * len(workers)


def test_an_item_archived_through_one_process_is_checked_as_it_is_now_in_all(workers, item):
    for number, editor in in_turn(workers):
        status, reason = ("archived", "content_archived") if number % 2 == 0 else ("active", None)
        assert editor.patch(f"/v1/content/{item['id']}", json={"status": status}).status_code == 200

        for worker in workers:
            assert worker.check(item["id"]).json()["reason"] == reason


def test_an_item_deleted_through_one_process_is_unknown_to_all(workers: list[Api], item: dict[str, Any]) -> None:
    for _, editor in in_turn(workers):
        deleted = editor.post("/v1/content", json={"title": "Item", "policyId": item["policyId"]}).json()
        for worker in workers:
            assert worker.check(deleted["id"]).json()["allowed"]

        assert editor.delete(f"/v1/content/{deleted['id']}").status_code == 200
        for worker in workers:
            assert worker.check(deleted["id"]).status_code == 404


LICENSE = {"requesterId": "org_acme", "licenseType": "commercial"}


@pytest.fixture
def licensed_item(workers: list[Api], item: dict[str, Any]) -> dict[str, Any]:
    """The item under a policy that requires a valid licence."""
    assert workers[0].patch(f"/v1/policies/{item['policyId']}", json={"rules": [LICENSED]}).status_code == 200
    return item


def issue(worker: Api, **fields: Any) -> str:
    return f"/v1/licenses/{worker.create('/v1/licenses', **LICENSE, **fields)}"


def reasons(workers: list[Api], item: dict[str, Any]) -> set[str | None]:
    """Return the next check's outcome in each process, with a caller-asserted licence."""
    vouching = {"id": "org_acme", "hasValidLicense": True}
    return {worker.check(item["id"], vouching).json()["reason"] for worker in workers}


def test_a_licence_issued_and_revoked_through_one_process_decides_the_next_check_in_all(workers, licensed_item):
    for _, issuer in in_turn(workers):
        held = issue(issuer, contentIds=[licensed_item["id"]])
        assert reasons(workers, licensed_item) == {None}

        assert issuer.post(f"{held}/revoke").status_code == 200
        assert reasons(workers, licensed_item) == {"no_license"}


def test_a_licence_changed_through_one_process_decides_and_costs_the_next_check_in_all(workers, licensed_item):
    held = issue(workers[0])
    for number, editor in in_turn(workers):
        price = {"amount": f"0.{number:02}1", "currency": "EUR"}
        tags = ["other"] if number % 5 == 4 else []
        assert editor.patch(held, json={"pricePerAccess": price, "tags": tags}).status_code == 200

        for worker in workers:
            answer = worker.check(licensed_item["id"]).json()
            assert (answer["allowed"], answer["charge"] and answer["charge"]["amount"]) == (
                (False, None) if tags else (True, float(price["amount"]))
            )


def test_a_requester_renamed_through_one_process_has_the_new_name_in_the_next_check_in_all(workers, item):
    issue(workers[0])
    for number, editor in in_turn(workers):
        assert editor.patch("/v1/requesters/org_acme", json={"name": f"Acme {number}"}).status_code == 200

        for worker in workers:
            answer = worker.check(item["id"]).json()
            assert answer["requester"]["name"] == f"Acme {number}"


def test_a_licence_expires_in_all_processes_at_its_very_moment(workers, licensed_item):
    held = issue(workers[0])
    for seconds in (2, 20):  # the longer one if a round of checks takes longer than the shorter
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        assert workers[0].patch(held, json={"expiresAt": end.isoformat()}).status_code == 200
        seen = []
        while datetime.now(UTC) < end + timedelta(seconds=0.5):
            answers = [worker.check(licensed_item["id"]).json() for worker in workers]
            seen += [(answer["allowed"], datetime.fromisoformat(answer["created"])) for answer in answers]
        assert all(allowed == (moment < end) for allowed, moment in seen)
        if {allowed for allowed, _ in seen} == {True, False}:
            return
    raise AssertionError(f"The licence was not seen on both sides of its end: {seen}")
