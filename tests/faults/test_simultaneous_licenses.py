"""Licences change during checks of their requester; both write rows of the same requester, day and account."""

from itertools import cycle
from typing import Any

import pytest

from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.traffic import in_groups, request, statuses

pytestmark = pytest.mark.faults

ROUNDS = 20 if ON_POSTGRESQL else 5
REQUESTERS = 3
PRICE = {"amount": "0.01", "currency": "EUR"}


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
