"""Simultaneous checks and changes of the same rows create each requester once and never deadlock."""

from itertools import cycle
from typing import Any

import pytest

from tests.factories import ALLOW_ALL
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, in_groups, request, statuses, under_load

pytestmark = pytest.mark.faults

LIMITED = {**ALLOW_ALL, "rateLimit": {"requests": 1_000_000, "period": "month"}}
BATCHES = 100 if ON_POSTGRESQL else 32
ROUNDS = 20 if ON_POSTGRESQL else 5
REQUESTERS = 3
PRICE = {"amount": "0.01", "currency": "EUR"}


@pytest.fixture
def items(server: Deployment, key: str) -> list[str]:
    with server.client(key) as client:
        return [client.item(LIMITED) for _ in range(8)]


def test_simultaneous_first_checks_by_one_requester_make_one_requester(server, key, items) -> None:
    for number in range(20):
        body = {"contentId": items[0], "requester": {"id": f"org_{number}", "name": "Acme"}}

        replies = at_once(server, [request("POST", "/v1/access/check", key, body)] * 8)

        assert statuses(replies) == {200: 8}
        # Two requesters would each have a count of their own for the rule's limit.
        remaining = sorted(reply.body["rateLimit"]["remaining"] for reply in replies)
        assert remaining == list(range(1_000_000 - 8, 1_000_000))


def test_batches_over_the_same_items_in_opposite_orders_never_deadlock(server, key, items) -> None:
    requesters = [{"id": f"org_{number}", "name": f"Name {number}"} for number in range(4)]
    pairs = [{"contentId": item, "requester": requester} for item in items for requester in requesters]
    orders = [pairs, pairs[::-1], pairs[1::2] + pairs[::2], pairs[::-2] + pairs[-2::-2]]
    batches = [
        request("POST", "/v1/access/check/batch", key, {"requester": "org_default", "checks": orders[number % 4]})
        for number in range(BATCHES)
    ]

    replies = in_groups(server, batches, 32)

    assert statuses(replies) == {200: BATCHES}
    assert all(answer["allowed"] for reply in replies for answer in reply.body["data"])
    with server.client(key) as client:
        stats = [client.get(f"/v1/content/{item}").json()["stats"]["totalRequests"] for item in items]
    assert stats == [BATCHES * len(requesters)] * len(items)


def test_checks_are_answered_while_the_account_is_being_written(server, key, items) -> None:
    def compose(number: int) -> tuple[None, bytes]:
        if number % 2 == 0:
            return None, request("POST", "/v1/content", key, {"title": "Made meanwhile"}, Connection="keep-alive")
        body = {"contentId": items[0], "requester": f"org_{number}"}
        return None, request("POST", "/v1/access/check", key, body, Connection="keep-alive")

    with under_load(server, compose, clients=12) as load:
        load.wait_for(600 if ON_POSTGRESQL else 200, seconds=60)

    assert set(statuses(load.replies)) == {200, 201}


def test_licences_and_checks_of_the_same_requesters_never_break_each_other_off(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        items = [client.item() for _ in range(3)]
        held = [client.create("/v1/licenses", requesterId=f"org_{n}", licenseType="a") for n in range(REQUESTERS)]
    names = cycle("ABCDE")

    def checks(number: int, **headers: str) -> bytes:
        """Return a batch for all requesters, each with a new name, in alternating order."""
        requesters: list[dict[str, Any]] = [{"id": f"org_{one}", "name": next(names)} for one in range(REQUESTERS)]
        order = [{"contentId": item, "requester": requester} for item in items for requester in requesters]
        body = {"requester": "org_0", "checks": order[:: -1 if number % 2 else 1]}
        return request("POST", "/v1/access/check/batch", key, body, **headers)

    def checks_once(number: int) -> bytes:
        return checks(number, Idempotency_Key=f"check-{number}")

    def change(number: int) -> bytes:
        body = {"requesterName": next(names), "price": PRICE, "pricePerAccess": PRICE, "licenseType": next(names)}
        return request("PATCH", f"/v1/licenses/{held[number % REQUESTERS]}", key, body)

    def issue(number: int) -> bytes:
        body = {"requesterId": f"org_{number % REQUESTERS}", "requesterName": next(names), "licenseType": "b"}
        return request("POST", "/v1/licenses", key, {**body, "price": PRICE})

    requests = [make(number) for number in range(ROUNDS) for make in (checks, checks_once, change, issue)]

    replies = in_groups(server, requests, 16)

    assert statuses(replies) == {200: 3 * ROUNDS, 201: ROUNDS}
