"""kill -9 of the server under load (contract §10): every answered decision is stored once, and the figures agree."""

import time
from collections import Counter
from typing import Any

import httpx
import pytest

from tests.faults.harness import Deployment
from tests.faults.traffic import statuses, under_load

pytestmark = pytest.mark.faults

KILLS = 3
ALLOW_LICENSED = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
CLIENTS = 8


def decisions(client: httpx.Client) -> list[dict[str, Any]]:
    """All of the account's, over as many pages as they take."""
    found: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = client.get("/v1/access/decisions", params=query).json()
        found += page["data"]
        if not page["hasMore"]:
            assert len(found) == page["totalCount"]
            return found
        query["cursor"] = page["nextCursor"]


def test_what_was_answered_is_stored_exactly_once_whenever_the_server_is_killed(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        policy = client.post("/v1/policies", json={"name": "Licensed", "rules": [ALLOW_LICENSED]}).json()["id"]
        items = [
            client.post("/v1/content", json={"title": f"Item {number}", "policyId": policy}).json()["id"]
            for number in range(3)
        ]

    def send(client: httpx.Client, number: int) -> httpx.Response:
        requester = {"id": f"org_{number}", "hasValidLicense": number % 2 == 0}
        body = {"contentId": items[number % 3], "requester": requester}
        return client.post("/v1/access/check", json=body)

    with under_load(server, key, send, CLIENTS) as load:
        for attempt in range(KILLS):
            load.wait_for(60)
            time.sleep(0.01 * attempt)
            server.restart()
        load.wait_for(60)

    assert set(statuses(load.replies)) == {200}
    acknowledged = {reply.json()["id"]: reply.json() for reply in load.replies}
    assert len(acknowledged) == len(load.replies)
    with server.client(key) as client:
        stored = decisions(client)
        stats = {item: client.get(f"/v1/content/{item}").json()["stats"] for item in items}

    by_id = {decision["id"]: decision for decision in stored}
    assert acknowledged.keys() <= by_id.keys()
    # A request without an answer may have been recorded, but once at the most.
    assert len(acknowledged) <= len(stored) <= len(acknowledged) + load.unanswered
    for id_, answer in acknowledged.items():
        assert [by_id[id_][name] for name in ("allowed", "contentId", "created")] == [
            answer[name] for name in ("allowed", "contentId", "created")
        ]
    total = Counter(decision["contentId"] for decision in stored)
    allowed = Counter(decision["contentId"] for decision in stored if decision["allowed"])
    assert stats == {
        item: {
            "totalRequests": total[item],
            "allowedRequests": allowed[item],
            "deniedRequests": total[item] - allowed[item],
        }
        for item in items
    }
