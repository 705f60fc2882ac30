"""`Idempotency-Key` under simultaneous requests and kill -9 (docs/reference/api.md, Retries).

FAULT_KILLS sets how often the server is killed.
"""

from typing import Any

import httpx
import pytest

from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.retries import assert_agreement, assert_no_key_is_stuck
from tests.faults.traffic import at_once, request

pytestmark = pytest.mark.faults

ROUNDS = 40 if ON_POSTGRESQL else 10
KILLS = kills(2 if ON_POSTGRESQL else 1)


def post(key: str, name: str) -> bytes:
    return request("POST", "/v1/content", key, {"title": name}, Idempotency_Key=name)


def items_titled(client: httpx.Client, title: str) -> list[dict[str, Any]]:
    return client.get("/v1/content", params={"title": title}).json()["data"]


def test_simultaneous_posts_with_one_key_make_one_item_and_agree(server, key) -> None:
    with server.client(key) as client:
        for number in range(ROUNDS):
            name = f"round-{number}"
            assert_agreement(at_once(server, [post(key, name)] * 20), 201)
            assert len(items_titled(client, name)) == 1


@pytest.mark.parametrize("attempt", range(KILLS))
def test_a_kill_amid_posts_leaves_no_key_stuck_and_no_second_item(server, key, attempt) -> None:
    names = [f"kill-{attempt}-{number}" for number in range(80)]  # more than are answered before the kill
    answers = assert_no_key_is_stuck(server, key, {name: ("/v1/content", {"title": name}) for name in names}, 201)
    with server.client(key) as client:
        for name in names:
            assert [item["id"] for item in items_titled(client, name)] == [answers[name]["id"]]
