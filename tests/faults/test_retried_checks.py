"""`Idempotency-Key` on checks at a real server: simultaneous retries, kill -9, and replies to retries.

FAULT_KILLS sets how often the server is killed.
"""

from typing import Any

import httpx
import pytest

from tests import factories
from tests.examples import ALL
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, killed_amid, request

pytestmark = pytest.mark.faults

PATH = "/v1/access/check"
ROUNDS = 20 if ON_POSTGRESQL and ALL else 5
KILLS = kills(3 if ON_POSTGRESQL else 1)


@pytest.fixture
def api(server: Deployment, key: str) -> Any:
    with server.client(key) as client:
        yield client


def item(api: httpx.Client, *rules: dict[str, Any]) -> str:
    policy = api.post("/v1/policies", json={"name": "P", "rules": list(rules or [factories.ALLOW_ALL])}).json()["id"]
    made: str = api.post("/v1/content", json={"title": "Item", "policyId": policy}).json()["id"]
    return made


def check(api: httpx.Client, body: dict[str, Any], retry: str = "retry", path: str = PATH) -> httpx.Response:
    return api.post(path, json=body, headers={"Idempotency-Key": retry})


def decisions(api: httpx.Client) -> int:
    total: int = api.get("/v1/access/decisions", params={"limit": 1}).json()["totalCount"]
    return total


def is_replay(reply: httpx.Response) -> bool:
    return reply.headers.get("Idempotent-Replayed") == "true"


def test_a_retry_has_the_first_reply_and_records_nothing(api: httpx.Client) -> None:
    body = {"contentId": item(api), "requester": "org"}
    first, again = check(api, body), check(api, body)

    assert (first.status_code, is_replay(first)) == (200, False)
    assert (again.status_code, is_replay(again), again.content) == (200, True, first.content)
    assert api.get(f"/v1/access/decisions/{first.json()['id']}").status_code == 200
    assert decisions(api) == 1


def test_a_batch_is_one_request_of_its_key(api: httpx.Client) -> None:
    items = [item(api) for _ in range(3)]
    body = {"requester": "org", "checks": [{"contentId": one} for one in (*items, "cnt_unknown")]}
    first, again = (check(api, body, path=f"{PATH}/batch") for _ in range(2))

    assert (again.content, is_replay(first), is_replay(again)) == (first.content, False, True)
    assert decisions(api) == 3


def test_the_key_of_another_request_is_refused(server: Deployment, api: httpx.Client) -> None:
    one, other = item(api), item(api)
    check(api, {"contentId": one, "requester": "org"})
    replies = [
        check(api, {"contentId": other, "requester": "org"}),
        check(api, {"contentId": one}),  # before its body's error
        check(api, {"contentId": one, "requester": "newcomer"}),
        check(api, {"contentId": one, "requester": "org"}, path=f"{PATH}/batch"),
        api.post("/v1/content", json={"title": "x"}, headers={"Idempotency-Key": "retry"}),
    ]

    assert [reply.status_code for reply in replies] == [422] * 5
    assert {reply.json()["error"]["code"] for reply in replies} == {"idempotency_mismatch"}
    assert decisions(api) == 1
    assert server.rows("SELECT 1 FROM licensing_requester WHERE requester_id = 'newcomer'") == []


@pytest.mark.parametrize("change", ["archive", "delete"])
def test_a_retry_has_the_first_reply_whatever_became_of_the_item(api: httpx.Client, change: str) -> None:
    made = item(api)
    body = {"contentId": made, "requester": "org"}
    first = check(api, body)
    if change == "archive":
        api.patch(f"/v1/content/{made}", json={"status": "archived"}).raise_for_status()
    else:
        api.delete(f"/v1/content/{made}").raise_for_status()
    again = check(api, body)

    assert (again.status_code, is_replay(again), again.content) == (200, True, first.content)
    assert decisions(api) == 1


def test_a_check_cannot_have_the_key_of_another_endpoint(api: httpx.Client) -> None:
    made = item(api)
    api.post("/v1/content", json={"title": "x"}, headers={"Idempotency-Key": "retry"})
    reply = check(api, {"contentId": made, "requester": "org"})

    assert reply.json()["error"]["code"] == "idempotency_mismatch"
    assert decisions(api) == 0


def test_a_replay_repeats_the_remaining_rate_limit(api: httpx.Client) -> None:
    rule = {**factories.ALLOW_ALL, "rateLimit": {"requests": 2, "period": "month"}}
    body = {"contentId": item(api, rule), "requester": "org"}
    left = [check(api, body, retry).json()["rateLimit"]["remaining"] for retry in ("one", "one", "two", "two", "one")]

    assert left == [1, 1, 0, 0, 1]
    assert check(api, body, "three").json()["reason"] == "rate_limit_exceeded"


def test_dry_runs_are_replayed_and_refusals_free_the_key(api: httpx.Client) -> None:
    made = item(api)
    rehearsal = {"contentId": made, "requester": "org", "dryRun": True}
    first, again = check(api, rehearsal), check(api, rehearsal)
    unknown = {"contentId": "cnt_unknown", "requester": "org"}
    refused = [check(api, unknown, "free").status_code for _ in range(2)]

    assert (again.content, is_replay(again), decisions(api)) == (first.content, True, 0)
    assert refused == [404, 404]
    assert check(api, {"contentId": made, "requester": "org"}, "free").status_code == 200


def test_an_invalid_key_is_refused_and_counts_once_for_the_plan(api: httpx.Client) -> None:
    body = {"contentId": item(api), "requester": "org"}
    reply = api.post(PATH, json=body, headers={"Idempotency-Key": "a b"})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "Idempotency-Key")

    before = int(reply.headers["X-RateLimit-Remaining"])
    after = int(check(api, {**body, "dryRun": True}).headers["X-RateLimit-Remaining"])
    assert before - after == 1 or after > before  # or a new minute began


def test_a_key_that_has_ended_gets_no_replay(server: Deployment, api: httpx.Client) -> None:
    body = {"contentId": item(api), "requester": "org"}
    made = api.post("/v1/api-keys", json={"name": "short", "type": "secret"}).json()
    with server.client(made["key"]) as short:
        assert check(short, body).status_code == 200
        api.delete(f"/v1/api-keys/{made['id']}")
        assert check(short, body).status_code == 401
    assert is_replay(check(api, body))


def test_simultaneous_checks_with_one_key_make_one_decision_and_agree(
    server: Deployment, api: httpx.Client, key: str
) -> None:
    body = {"contentId": item(api), "requester": "org"}
    disagreements = []
    for number in range(ROUNDS):
        raw = request("POST", PATH, key, body, Idempotency_Key=f"round-{number}")
        replies = at_once(server, [raw] * 20)
        told = [reply for reply in replies if reply.status == 200]
        first = [reply for reply in told if "idempotent-replayed" not in reply.headers]
        if len({reply.content for reply in told}) != 1 or len(first) != 1 or {r.status for r in replies} - {200, 409}:
            disagreements.append((number, replies))

    assert disagreements == []
    assert decisions(api) == ROUNDS


def test_a_check_and_another_endpoint_cannot_both_have_a_key(server: Deployment, api: httpx.Client, key: str) -> None:
    body = {"contentId": item(api), "requester": "org"}
    for number in range(ROUNDS):
        name = f"race-{number}"
        checks = [request("POST", PATH, key, body, Idempotency_Key=name)] * 6
        creations = [request("POST", "/v1/content", key, {"title": name}, Idempotency_Key=name)] * 6
        replies = at_once(server, [one for pair in zip(checks, creations, strict=True) for one in pair])
        assert {reply.status for reply in replies} <= {200, 201, 409, 422}
        assert not {200, 201} <= {reply.status for reply in replies}


@pytest.mark.parametrize("attempt", range(KILLS))
def test_a_kill_amid_checks_leaves_no_key_stuck_and_no_second_decision(
    server: Deployment, api: httpx.Client, key: str, attempt: int
) -> None:
    body = {"contentId": item(api), "requester": "org"}
    names = [f"kill-{attempt}-{number}" for number in range(60)]
    four_each = [name for name in names for _ in range(4)]
    replies = killed_amid(server, [request("POST", PATH, key, body, Idempotency_Key=name) for name in four_each])
    answered = {name: reply.content for name, reply in zip(four_each, replies, strict=True) if reply.status == 200}
    server.start()

    with server.client(key) as client:
        for name in names:
            again = check(client, body, name)
            assert again.status_code == 200, f"{name} is stuck: {again.text}"
            assert again.content == answered.get(name, again.content)
        assert decisions(client) == len(names)
