"""Simultaneous refunds of one charge in all processes never exceed the charge."""

from decimal import Decimal
from typing import Any

import pytest

from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults

REFUNDS = 40


@pytest.mark.parametrize(("kind", "sold"), [("decisionId", "access"), ("licenseId", "price"), ("licenseId", "sale")])
def test_of_40_simultaneous_refunds_of_a_fifth_five_are_booked(server: Deployment, key: str, kind: str, sold: str):
    with server.client(key) as client:
        item = client.item()
        dollar = {"amount": "1", "currency": "USD"}
        terms: dict[str, Any] = {"requesterId": "org", "licenseType": "a", "pricePerAccess": dollar}
        if sold != "sale":
            terms["price"] = dollar
        held = client.create("/v1/licenses", **terms)
        if sold == "sale":
            client.create("/v1/revenue", **dollar, licenseId=held)
        made = client.check(item, "org").json()["id"]
        body: dict[str, Any] = {"amount": "-0.2", "currency": "USD"}
        body[kind] = made if kind == "decisionId" else held

        # Every second request is a retry of the previous one.
        keys = [{"Idempotency_Key": f"refund-{kind}-{sold}-{number // 2}"} for number in range(REFUNDS)]
        replies = at_once(server, [request("POST", "/v1/revenue", key, body, **headers) for headers in keys])

        # A retry that waited for a booked refund gets its reply.
        booked = {reply.body["id"] for reply in replies if reply.status == 201}
        assert len(booked) == 5
        assert set(statuses(replies)) == {201, 422}
        refusals = [reply.body["error"] for reply in replies if reply.status == 422]
        assert {(error["code"], error["param"]) for error in refusals} == {("invalid_request", "amount")}
        entries = client.get("/v1/revenue", params={kind: body[kind], "type": "adjustment"}).json()["data"]
        refunds = [entry for entry in entries if entry["amount"] < 0]
        assert {entry["id"] for entry in refunds} == booked
        assert sum(Decimal(str(entry["amount"])) for entry in refunds) == -1


def test_of_simultaneous_refunds_of_one_external_id_one_is_booked(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        price = {"amount": "1", "currency": "USD"}
        held = client.create("/v1/licenses", requesterId="org", licenseType="a", price=price)
        bodies = [{"licenseId": held, "amount": f"0.{1 + number % 2}", "externalId": "refund"} for number in range(20)]
        replies = at_once(server, [request("POST", "/v1/refunds", key, body) for body in bodies])

        assert statuses(replies) == {201: 1, 200: 9, 409: 10}
        assert len({reply.body["id"] for reply in replies if reply.status < 300}) == 1
        all_left = [{"licenseId": held, "externalId": f"all-{number}"} for number in range(10)]
        replies = at_once(server, [request("POST", "/v1/refunds", key, body) for body in all_left])
        assert statuses(replies) == {201: 1, 422: 9}
        entries = client.get("/v1/revenue", params={"licenseId": held}).json()["data"]
        assert sum(Decimal(str(entry["amount"])) for entry in entries) == 0
