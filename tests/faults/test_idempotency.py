"""`Idempotency-Key` under simultaneous requests and kill -9 (docs/reference/api.md, Retries).

FAULT_KILLS sets how often the server is killed.
"""

from typing import Any

import httpx
import pytest

from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment
from tests.faults.traffic import Reply, at_once, killed_amid, request

pytestmark = pytest.mark.faults

ROUNDS = 40 if ON_POSTGRESQL else 10
KILLS = kills(2 if ON_POSTGRESQL else 1)


def post(key: str, name: str) -> bytes:
    return request("POST", "/v1/content", key, {"title": name}, Idempotency_Key=name)


def items_titled(client: httpx.Client, title: str) -> list[dict[str, Any]]:
    return client.get("/v1/content", params={"title": title}).json()["data"]


def agree(replies: list[Reply]) -> bool:
    """Whether each reply is the creation, its replay, or an `idempotency_conflict`."""
    made = {reply.content for reply in replies if reply.status == 201}
    first = [reply for reply in replies if reply.status == 201 and "idempotent-replayed" not in reply.headers]
    conflicts = [reply for reply in replies if reply.status == 409]
    return (
        len(made) == 1
        and len(first) == 1
        and all(reply.status in (201, 409) for reply in replies)
        and all(reply.body["error"]["code"] == "idempotency_conflict" for reply in conflicts)
    )


def test_simultaneous_posts_with_one_key_make_one_item_and_agree(server: Deployment, key: str) -> None:
    disagreements = []
    with server.client(key) as client:
        for number in range(ROUNDS):
            name = f"round {number}".replace(" ", "-")
            replies = at_once(server, [post(key, name)] * 20)
            if not agree(replies) or len(items_titled(client, name)) != 1:
                disagreements.append((name, replies))

    assert disagreements == []


@pytest.mark.parametrize("attempt", range(KILLS))
def test_a_kill_amid_posts_leaves_no_key_stuck_and_no_second_item(server: Deployment, key: str, attempt: int) -> None:
    names = [f"kill-{attempt}-{number}" for number in range(80)]  # more than are answered before the kill
    four_each = [name for name in names for _ in range(4)]
    replies = killed_amid(server, [post(key, name) for name in four_each])
    answered = {name: reply.content for name, reply in zip(four_each, replies, strict=True) if reply.status == 201}
    server.start()

    with server.client(key) as client:
        for name in names:
            again = client.post("/v1/content", json={"title": name}, headers={"Idempotency-Key": name})
            assert again.status_code == 201, f"{name} is stuck: {again.text}"
            assert again.content == answered.get(name, again.content)
            assert [item["id"] for item in items_titled(client, name)] == [again.json()["id"]]
    assert len(answered) < len(names), "The kill came too late to prove anything."
