"""`Idempotency-Key` on checks at a real server: simultaneous retries, kill -9, and replies to retries.

FAULT_KILLS sets how often the server is killed.
"""

from typing import Any

import httpx
import pytest

from tests.examples import ALL, rounds
from tests.factories import ALLOW_ALL
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.retries import assert_agreement, assert_no_key_is_stuck
from tests.faults.traffic import at_once, request

pytestmark = pytest.mark.faults

PATH = "/v1/access/check"
ROUNDS = 20 if ON_POSTGRESQL and ALL else 5
KILLS = kills(rounds(3) if ON_POSTGRESQL else 1)


@pytest.fixture
def api(server, key) -> Any:
    with server.client(key) as client:
        yield client


def check(api: httpx.Client, body: dict[str, Any], retry: str = "retry", path: str = PATH) -> httpx.Response:
    return api.post(path, json=body, headers={"Idempotency-Key": retry})


def decisions(api: httpx.Client) -> int:
    total: int = api.get("/v1/access/decisions", params={"limit": 1}).json()["totalCount"]
    return total


def is_replay(reply: httpx.Response) -> bool:
    return reply.headers.get("Idempotent-Replayed") == "true"


def test_a_retry_has_the_first_reply_records_nothing_and_no_other_request_can_have_its_key(server, api) -> None:
    one, other = api.item(), api.item()
    body = {"contentId": one, "requester": "org"}
    first, again = check(api, body), check(api, body)
    assert (first.status_code, is_replay(first)) == (200, False)
    assert (again.status_code, is_replay(again), again.content) == (200, True, first.content)
    assert api.get(f"/v1/access/decisions/{first.json()['id']}").status_code == 200

    replies = [
        check(api, {"contentId": other, "requester": "org"}),
        check(api, {"contentId": one}),  # before its body's error
        check(api, {"contentId": one, "requester": "newcomer"}),
        check(api, {"contentId": one, "requester": "org"}, path=f"{PATH}/batch"),
        api.post("/v1/content", json={"title": "x"}, headers={"Idempotency-Key": "retry"}),
    ]

    assert [reply.status_code for reply in replies] == [422] * 5
    assert {reply.json()["error"]["code"] for reply in replies} == {"idempotency_mismatch"}
    assert server.rows("SELECT 1 FROM licensing_requester WHERE requester_id = 'newcomer'") == []
    api.post("/v1/content", json={"title": "x"}, headers={"Idempotency-Key": "of-an-item"})
    assert check(api, body, "of-an-item").json()["error"]["code"] == "idempotency_mismatch"

    for method, fields in (("PATCH", {"status": "archived"}), ("DELETE", None)):
        assert api.request(method, f"/v1/content/{one}", json=fields).status_code == 200
        again = check(api, body)
        assert (again.status_code, is_replay(again), again.content) == (200, True, first.content)
    assert decisions(api) == 1


def test_batches_dry_runs_and_limits_are_replayed_and_refusals_free_the_key(api) -> None:
    items = [api.item() for _ in range(3)]
    body = {"requester": "org", "checks": [{"contentId": one} for one in (*items, "cnt_unknown")]}
    first, again = (check(api, body, "batch", f"{PATH}/batch") for _ in range(2))
    assert (again.content, is_replay(first), is_replay(again)) == (first.content, False, True)

    rehearsal = {"contentId": items[0], "requester": "org", "dryRun": True}
    first, again = check(api, rehearsal), check(api, rehearsal)
    assert (again.content, is_replay(again), decisions(api)) == (first.content, True, 3)

    unknown = {"contentId": "cnt_unknown", "requester": "org"}
    assert [check(api, unknown, "free").status_code for _ in range(2)] == [404, 404]
    assert check(api, {"contentId": items[0], "requester": "org"}, "free").status_code == 200

    limited = api.item({**ALLOW_ALL, "rateLimit": {"requests": 2, "period": "month"}})
    body = {"contentId": limited, "requester": "org"}
    left = [check(api, body, retry).json()["rateLimit"]["remaining"] for retry in ("one", "one", "two", "two", "one")]
    assert left == [1, 1, 0, 0, 1]
    assert check(api, body, "three").json()["reason"] == "rate_limit_exceeded"


def test_invalid_idempotency_keys_and_ended_api_keys_get_no_replay(server, api) -> None:
    body = {"contentId": api.item(), "requester": "org"}
    reply = api.post(PATH, json=body, headers={"Idempotency-Key": "a b"})
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "Idempotency-Key")
    before = int(reply.headers["X-RateLimit-Remaining"])
    after = int(check(api, {**body, "dryRun": True}, "dry").headers["X-RateLimit-Remaining"])
    assert before - after == 1 or after > before  # or a new minute began

    made = api.post("/v1/api-keys", json={"name": "short", "type": "secret"}).json()
    with server.client(made["key"]) as short:
        assert check(short, body).status_code == 200
        api.delete(f"/v1/api-keys/{made['id']}")
        assert check(short, body).status_code == 401
    assert is_replay(check(api, body))


def test_simultaneous_checks_with_one_key_make_one_decision_and_agree(server, api, key) -> None:
    body = {"contentId": api.item(), "requester": "org"}
    for number in range(ROUNDS):
        replies = at_once(server, [request("POST", PATH, key, body, Idempotency_Key=f"round-{number}")] * 20)
        assert_agreement(replies, 200)
    assert decisions(api) == ROUNDS


def test_a_check_and_another_endpoint_cannot_both_have_a_key(server, api, key) -> None:
    body = {"contentId": api.item(), "requester": "org"}
    for number in range(ROUNDS):
        name = f"race-{number}"
        checks = [request("POST", PATH, key, body, Idempotency_Key=name)] * 6
        creations = [request("POST", "/v1/content", key, {"title": name}, Idempotency_Key=name)] * 6
        replies = at_once(server, [one for pair in zip(checks, creations, strict=True) for one in pair])
        assert {reply.status for reply in replies} <= {200, 201, 409, 422}
        assert not {200, 201} <= {reply.status for reply in replies}


@pytest.mark.parametrize("attempt", range(KILLS))
def test_a_kill_amid_checks_leaves_no_key_stuck_and_no_second_decision(server, api, key, attempt) -> None:
    body = {"contentId": api.item(), "requester": "org"}
    names = [f"kill-{attempt}-{number}" for number in range(60)]
    assert_no_key_is_stuck(server, key, dict.fromkeys(names, (PATH, body)), 200)
    assert decisions(api) == len(names)
