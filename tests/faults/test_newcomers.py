"""Requesters are created with their first decision, despite faults and races.

FAULT_KILLS overrides tests.examples: how often the server is killed.
"""

import random
import time
from itertools import count

import pytest

from tests.examples import rounds
from tests.factories import ALLOW_ALL
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, request, statuses, under_load

pytestmark = pytest.mark.faults

KILLS = kills(rounds(5 if ON_POSTGRESQL else 2))
ROUNDS = 12 if ON_POSTGRESQL else 4
LIMITED = {**ALLOW_ALL, "rateLimit": {"requests": 1_000_000, "period": "month"}}
ALONE = """SELECT requester_id FROM licensing_requester requester WHERE requester_id LIKE 'new-%'
  AND NOT EXISTS (SELECT 1 FROM analytics_accessevent event WHERE event.requester_id = requester.id)"""
NAMELESS = """SELECT count(*) FROM analytics_accessevent event
  WHERE NOT EXISTS (SELECT 1 FROM licensing_requester requester WHERE requester.id = event.requester_id)"""
WITHOUT_COUNT = """SELECT requester_id FROM licensing_requester requester WHERE requester_id LIKE 'new-%'
  AND NOT EXISTS (SELECT 1 FROM analytics_ruleusage usage WHERE usage.requester_id = requester.id)"""


@pytest.fixture
def item(server: Deployment, key: str) -> str:
    with server.client(key) as client:
        return client.item(LIMITED)


@pytest.mark.parametrize("attempt", range(KILLS))
def test_a_kill_leaves_a_requester_and_its_decision_or_neither(server, key, item, attempt) -> None:
    numbers = count()

    def compose(number: int) -> tuple[str, bytes]:
        requester = f"new-{attempt}-{number}-{next(numbers)}"
        body = {"contentId": item, "requester": {"id": requester, "name": "New"}}
        return requester, request("POST", "/v1/access/check", key, body, Connection="keep-alive")

    with under_load(server, compose, clients=12) as load:
        load.wait_for(100)
        time.sleep(random.uniform(0, 0.3))  # a kill at any moment
        server.kill()
    server.start()

    assert (server.rows(ALONE), server.rows(WITHOUT_COUNT), server.rows(NAMELESS)) == ([], [], [(0,)])
    answered = [one for one in load.exchanges if one.reply.status == 200]
    assert {one.reply.body["rateLimit"]["remaining"] for one in answered} == {999_999}
    with server.client(key) as client:
        for one in random.sample(answered, 20):
            stored = client.get(f"/v1/access/decisions/{one.reply.body['id']}").json()
            assert stored["requester"] == {"id": one.tag, "name": "New"}


def test_first_checks_beside_licences_for_the_same_requesters_all_succeed(server, key, item) -> None:
    """Simultaneous checks and licences in any order create each requester once."""
    others = 8
    for turn in range(ROUNDS):
        requesters = [f"new-licensed-{turn}-{number}" for number in range(6)]
        requests = []
        for number in range(others):
            ordered = requesters[number % 6 :] + requesters[: number % 6]
            named = [{"id": one, "name": f"By {number}"} for one in (ordered, ordered[::-1])[number % 2]]
            checks = [{"contentId": item, "requester": one} for one in named]
            requests.append(request("POST", "/v1/access/check/batch", key, {"checks": checks}))
            licences = [{"requesterId": one, "requesterName": f"By {number}", "licenseType": "x"} for one in ordered]
            requests.append(request("POST", "/v1/licenses/bulk", key, {"items": licences}))
        replies = at_once(server, requests)

        assert statuses(replies) == {200: 2 * others}, [one for one in replies if one.status != 200]
        assert all(one["status"] == 201 for reply in replies[1::2] for one in reply.body["data"])
        checks = [{"contentId": item, "requester": one} for one in requesters]
        last = at_once(server, [request("POST", "/v1/access/check", key, check) for check in checks])
        assert [one.body["rateLimit"]["remaining"] for one in last] == [1_000_000 - others - 1] * 6
