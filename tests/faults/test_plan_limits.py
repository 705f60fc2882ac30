"""The plan's limit and its edge meter under simultaneous requests: exact across all processes."""

from collections.abc import Sequence

import httpx
import pytest

from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment, within_a_minute
from tests.faults.traffic import Reply, at_once, in_groups, request, statuses

pytestmark = pytest.mark.faults

ROUNDS = 4 if ON_POSTGRESQL else 2


def send(server: Deployment, requests: Sequence[bytes]) -> list[Reply]:
    """Send the requests at the same time, as far as one process serves so many."""
    return at_once(server, requests) if ON_POSTGRESQL else in_groups(server, requests, 32)


def test_of_400_simultaneous_requests_at_a_limit_of_60_exactly_60_pass(server: Deployment) -> None:
    """Each of those is told another number of requests left."""

    def listings(key: str, other: str) -> tuple[dict[int, int], list[int]]:
        replies = send(server, [request("GET", "/v1/policies", key)] * 400)
        left = [int(reply.headers["x-ratelimit-remaining"]) for reply in replies if reply.status == 200]
        return statuses(replies), sorted(left)

    rounds = [within_a_minute(server, listings) for _ in range(ROUNDS)]

    assert rounds == [({200: 60, 429: 340}, list(range(60)))] * ROUNDS


def test_of_simultaneous_requests_with_public_keys_exactly_their_share_passes_and_all_others_do(server):
    def listings(key: str, other: str) -> list[dict[int, int]]:
        bearer = {"Authorization": f"Bearer {key}"}
        body = {"name": "Page", "type": "public", "permissions": ["policies:read"]}
        pages = [httpx.post(f"{server.url}/v1/api-keys", json=body, headers=bearer).json()["key"] for _ in range(2)]
        body |= {"name": "Job", "type": "secret", "rateLimit": {"requests": 10, "period": "minute"}}
        limited = httpx.post(f"{server.url}/v1/api-keys", json=body, headers=bearer).json()["key"]
        used = 3
        senders = [one for one in (*pages, limited) for _ in range(40)] + [other] * (60 - used - 10)
        replies = at_once(server, [request("GET", "/v1/policies", sender) for sender in senders])
        return [statuses(replies[begin : begin + 40]) for begin in (0, 40, 80)] + [statuses(replies[120:])]

    first, second, limited, others = within_a_minute(server, listings)

    assert first.get(200, 0) + second.get(200, 0) == 30
    assert first[429] + second[429] == 50
    assert limited == {200: 10, 429: 30}
    assert others == {200: 47}


def test_two_keys_of_one_account_share_its_limit_also_at_the_same_moment(server: Deployment) -> None:
    replies = within_a_minute(
        server, lambda *keys: at_once(server, [request("GET", "/v1/content", one) for one in keys for _ in range(60)])
    )

    assert statuses(replies) == {200: 60, 429: 60}


def test_questions_of_proxies_are_all_answered_and_counted_exactly(server: Deployment) -> None:
    def ask(key: str, other: str) -> tuple[dict[int, int], int]:
        sent = {"X_Licensing_Key": key, "X_Licensing_Url": "https://pub.example/a"}
        replies = send(server, [request("GET", "/v1/access/middleware", "", **sent)] * 700)
        me = httpx.get(f"{server.url}/v1/accounts/me", headers={"Authorization": f"Bearer {key}"}).json()
        return statuses(replies), me["edgeLimits"]["minute"]["used"]

    assert within_a_minute(server, ask) == ({200: 700}, 700)
