"""Revoke or rotate keys during slow checks: after the reply, no process decides a new request with the key.

FAULT_KEYS sets how many keys are ended, by revoking and rotating in turn.
"""

import json
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import count
from typing import Any

import httpx
import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import Api, Deployment

pytestmark = pytest.mark.faults

KEYS = int(os.environ.get("FAULT_KEYS") or 80)
ACCOUNTS = 4  # at the same time
FORGETFUL = ("-m", "tests.faults.altered_server", "forgetful")
addresses = count()


class Slow:
    """A connection to one worker that sends headers first, and the body on request."""

    def __init__(self, server: Deployment) -> None:
        self.connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.connection.connect()

    def begin(self, key: str, path: str, body: bytes) -> None:
        number = next(addresses)  # refused requests count against their address
        self.body = body
        self.connection.putrequest("POST", path)
        self.connection.putheader("Authorization", f"Bearer {key}")
        self.connection.putheader("Content-Type", "application/json")
        self.connection.putheader("Content-Length", str(len(body)))
        self.connection.putheader("X-Forwarded-For", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
        self.connection.endheaders()

    def end(self) -> int:
        """Send the body and return the reply's status."""
        self.connection.send(self.body)
        with self.connection.getresponse() as reply:
            reply.read()
            return reply.status

    def close(self) -> None:
        self.connection.close()


def kinds(item: str, requester: str) -> list[tuple[str, bytes]]:
    """Return a path and a body for each kind of request."""
    check = {"contentId": item, "requester": requester}
    single, batch = "/v1/access/check", "/v1/access/check/batch"
    return [
        (single, json.dumps(check).encode()),
        (batch, json.dumps({"requester": requester, "checks": [{"contentId": item}] * 3}).encode()),
        (single, json.dumps({**check, "dryRun": True}).encode()),
        (single, json.dumps({**check, "dryRun": True, "policy": {"rules": [ALLOW_ALL]}}).encode()),
        (single, json.dumps({**check, "contentId": "cnt_unknown"}).encode()),
        (single, b"{"),
    ]


class Publisher:
    """An account whose keys are ended one by one, with a connection to each worker."""

    def __init__(self, server: Deployment, key: str) -> None:
        self.key = key
        self.workers: list[tuple[Api, Slow]] = []
        for _ in server.each_worker_alone():
            client = server.client(key, limits=httpx.Limits(max_connections=1))
            assert client.get("/livez").status_code == 200
            self.workers.append((client, Slow(server)))
        owner = self.workers[0][0]
        self.item = owner.item()

    def end_keys(self, number: int) -> Counter[int]:
        """Count the statuses of requests sent with a key after its end."""
        statuses: Counter[int] = Counter()
        for turn in range(number):
            statuses += self.end_key(turn)
        return statuses

    def end_key(self, turn: int) -> Counter[int]:
        owner, _ = self.workers[turn % len(self.workers)]
        created = owner.post("/v1/api-keys", json={"name": "short-lived", "type": "secret"}).json()
        for _, slow in self.workers:
            slow.begin(created["key"], *kinds(self.item, "before")[0])
            assert slow.end() == 200

        self.end(owner, created["id"], by_rotation=turn % 2 == 1)
        every = kinds(self.item, "after")
        for place, (_, slow) in enumerate(self.workers):
            slow.begin(created["key"], *every[(turn + place) % len(every)])
        for client, _ in self.workers:
            assert client.check(self.item, "another").status_code == 200
        return Counter(slow.end() for _, slow in self.workers)

    @staticmethod
    def end(owner: httpx.Client, key_id: str, *, by_rotation: bool) -> None:
        if by_rotation:
            assert owner.post(f"/v1/api-keys/{key_id}/rotate", json={}).status_code == 201
        else:
            assert owner.delete(f"/v1/api-keys/{key_id}").status_code == 200

    def recorded(self) -> int:
        """Return the decisions recorded for ended keys."""
        found: dict[str, Any] = self.workers[0][0].get("/v1/access/decisions?requesterId=after").json()
        return found["totalCount"]

    def close(self) -> None:
        for client, slow in self.workers:
            client.close()
            slow.close()


def race(server: Deployment, keys: int) -> tuple[Counter[int], int]:
    """Return the statuses of requests with ended keys, and the number of decisions that they recorded."""
    publishers = [Publisher(server, key) for key, _ in server.accounts(ACCOUNTS)]
    with ThreadPoolExecutor(ACCOUNTS) as threads:
        statuses = sum(threads.map(lambda one: one.end_keys(keys // ACCOUNTS), publishers), Counter())
    recorded = sum(one.recorded() for one in publishers)
    for one in publishers:
        one.close()
    return statuses, recorded


def test_no_ended_key_gets_a_decision(server: Deployment) -> None:
    assert race(server, KEYS) == ({401: KEYS // ACCOUNTS * ACCOUNTS * server.workers}, 0)


def test_the_race_finds_out_a_server_that_does_not_compare_epochs(server: Deployment) -> None:
    server.kill()
    server.start(FORGETFUL)
    try:
        statuses, recorded = race(server, 40)
    finally:
        server.kill()
    assert statuses[200] > 0
    assert recorded > 0
