"""A rule's rate limit is a licence term: exact under simultaneous checks, and kept across failures."""

from typing import Any

import pytest
import redis

from tests.factories import LICENSED
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Api, Deployment
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults

FIFTY_A_MONTH = {**LICENSED, "rateLimit": {"requests": 50, "period": "month"}}
REQUESTER = {"id": "org_acme", "hasValidLicense": True}


def check(client: Api, item: str, requester: Any = REQUESTER) -> dict[str, Any]:
    return client.check(item, requester).json()


def test_of_200_simultaneous_checks_at_a_limit_of_50_exactly_50_are_allowed(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        item = client.item(FIFTY_A_MONTH)
        body = {"contentId": item, "requester": REQUESTER}

        replies = at_once(server, [request("POST", "/v1/access/check", key, body)] * 200)

        assert statuses(replies) == {200: 200}
        allowed = [reply.body for reply in replies if reply.body["allowed"]]
        assert sorted(answer["rateLimit"]["remaining"] for answer in allowed) == list(range(50))
        denied = [reply.body for reply in replies if not reply.body["allowed"]]
        assert {answer["reason"] for answer in denied} == {"rate_limit_exceeded"}
        stats = client.get(f"/v1/content/{item}").json()["stats"]
        assert stats == {"totalRequests": 200, "allowedRequests": 50, "deniedRequests": 150}


def test_the_count_survives_an_unrelated_edit_a_flushed_redis_and_a_restart(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        item = client.item(FIFTY_A_MONTH)
        policy = client.get(f"/v1/content/{item}").json()["policyId"]
        for _ in range(20):
            assert check(client, item)["allowed"]

        assert client.patch(f"/v1/policies/{policy}", json={"description": "Renewed."}).status_code == 200
        assert check(client, item)["rateLimit"]["remaining"] == 29
        if server.valkey:
            redis.Redis.from_url(server.valkey.url).flushall()
            assert check(client, item)["rateLimit"]["remaining"] == 28
        server.restart()

        left = 28 if ON_POSTGRESQL else 29
        assert [check(client, item)["allowed"] for _ in range(left + 1)] == [True] * left + [False]
        assert check(client, item)["reason"] == "rate_limit_exceeded"
        assert check(client, item, {**REQUESTER, "id": "org_other"})["allowed"]
