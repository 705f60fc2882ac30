"""Requests with one `Idempotency-Key`, sent simultaneously or amid a kill."""

from typing import Any

from tests.faults.harness import Deployment
from tests.faults.traffic import Reply, killed_amid, request


def assert_agreement(replies: list[Reply], status: int) -> None:
    """Assert that each reply is the first one with this status, its replay, or an `idempotency_conflict`."""
    answered = [reply for reply in replies if reply.status == status]
    conflicts = [reply for reply in replies if reply.status == 409]
    assert len(answered) + len(conflicts) == len(replies), replies
    assert len({reply.content for reply in answered}) == 1, replies
    assert len([reply for reply in answered if "idempotent-replayed" not in reply.headers]) == 1, replies
    assert {reply.body["error"]["code"] for reply in conflicts} <= {"idempotency_conflict"}


def assert_no_key_is_stuck(
    server: Deployment, key: str, posts: dict[str, tuple[str, dict[str, Any]]], status: int
) -> dict[str, Any]:
    """Send each POST four times by its key's name, kill the server amid them, and repeat them.

    Assert that all are answered then, as before the kill if they were. Return the answers.
    """
    four_each = [name for name in posts for _ in range(4)]
    raw = [request("POST", posts[name][0], key, posts[name][1], Idempotency_Key=name) for name in four_each]
    replies = killed_amid(server, raw)
    answered = {name: reply.content for name, reply in zip(four_each, replies, strict=True) if reply.status == status}
    assert len(answered) < len(posts), "The kill came too late to prove anything."
    server.start()
    answers = {}
    with server.client(key) as client:
        for name, (path, body) in posts.items():
            again = client.post(path, json=body, headers={"Idempotency-Key": name})
            assert again.status_code == status, f"{name} is stuck: {again.text}"
            assert again.content == answered.get(name, again.content)
            answers[name] = again.json()
    return answers
