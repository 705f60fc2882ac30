"""Simultaneous payments, voids, paid grants, refunds and fees in all processes count once."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults

LICENSES, REFUNDS = 12, 40
DOLLAR = {"amount": "1", "currency": "USD"}
FEE = {"amount": "5", "currency": "USD", "every": "month"}


def test_simultaneous_payments_and_voids_count_once(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        client.post("/v1/requesters", json={"id": "org_payer"})
        body = {"requesterId": "org_payer", "amount": "5", "currency": "USD", "externalId": "invoice"}
        replies = at_once(server, [request("POST", "/v1/payments", key, body)] * 20)
        assert statuses(replies) == {201: 1, 200: 19}
        [payment] = {reply.body["id"] for reply in replies}

        path, reason = f"/v1/payments/{payment}/void", {"reason": "Twice"}
        assert statuses(at_once(server, [request("POST", path, key, reason)] * 20)) == {200: 1, 409: 19}

        wallet = client.create("/v1/wallets", requesterId="org_payer", unit="access")
        paid = {"amount": 100, "paid": {"amount": "7", "currency": "USD"}, "externalId": "order"}
        replies = at_once(server, [request("POST", f"/v1/wallets/{wallet}/grants", key, paid)] * 20)
        assert statuses(replies) == {201: 1, 200: 19}

        [statement] = client.get("/v1/statements?requesterId=org_payer&currency=USD").json()["data"]
        assert [statement[name] for name in ("payments", "paidForCredit", "closing")] == [0, 7, 0]
        assert client.get(f"/v1/wallets/{wallet}").json()["balance"] == 100


@pytest.mark.parametrize(("kind", "sold"), [("decisionId", "access"), ("licenseId", "price"), ("licenseId", "sale")])
def test_of_40_simultaneous_refunds_of_a_fifth_five_are_booked(server: Deployment, key: str, kind: str, sold: str):
    with server.client(key) as client:
        item = client.item()
        terms: dict[str, Any] = {"requesterId": "org", "licenseType": "a", "pricePerAccess": DOLLAR}
        if sold != "sale":
            terms["price"] = DOLLAR
        held = client.create("/v1/licenses", **terms)
        if sold == "sale":
            client.create("/v1/revenue", **DOLLAR, licenseId=held)
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
        held = client.create("/v1/licenses", requesterId="org", licenseType="a", price=DOLLAR)
        bodies = [{"licenseId": held, "amount": f"0.{1 + number % 2}", "externalId": "refund"} for number in range(20)]
        replies = at_once(server, [request("POST", "/v1/refunds", key, body) for body in bodies])

        assert statuses(replies) == {201: 1, 200: 9, 409: 10}
        assert len({reply.body["id"] for reply in replies if reply.status < 300}) == 1
        all_left = [{"licenseId": held, "externalId": f"all-{number}"} for number in range(10)]
        replies = at_once(server, [request("POST", "/v1/refunds", key, body) for body in all_left])
        assert statuses(replies) == {201: 1, 422: 9}
        entries = client.get("/v1/revenue", params={"licenseId": held}).json()["data"]
        assert sum(Decimal(str(entry["amount"])) for entry in entries) == 0


def test_each_fee_is_booked_once_while_it_falls_due(server: Deployment, key: str) -> None:
    """All processes read and change what the fees count in."""
    begin = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    rows = [
        {"requesterId": "org_payer", "externalId": f"c-{number}", "licenseType": "a", "startsAt": begin, "fee": FEE}
        for number in range(LICENSES)
    ]
    with server.client(key) as client:
        issued = client.post("/v1/licenses/bulk", json={"items": rows}).json()["data"]
        ids = {outcome["license"]["id"] for outcome in issued}
        reads = [request("GET", path, key) for path in ("/v1/revenue", "/v1/statements", "/v1/licenses")] * 4
        changed = {"metadata": {"note": "x"}, "fee": {**FEE, "amount": "6"}}
        changes = [request("PATCH", f"/v1/licenses/{id_}", key, changed) for id_ in ids]
        bulk = [request("POST", "/v1/licenses/bulk", key, {"items": rows})]

        def all_booked() -> bool:
            assert statuses(at_once(server, [*reads, *changes, *bulk])) == {200: len(reads) + len(changes) + 1}
            return bool(client.get("/v1/revenue?type=fee").json()["data"])

        assert eventually(all_booked, 60)
        entries = client.get("/v1/revenue?limit=100").json()["data"]
        assert sorted(entry["licenseId"] for entry in entries) == sorted(ids)
        assert {entry["type"] for entry in entries} == {"fee"}
        [statement] = client.get("/v1/statements?requesterId=org_payer").json()["data"]
        booked = sum(entry["amount"] for entry in entries)
        assert (statement["lines"], statement["fees"], statement["total"]) == (LICENSES, booked, booked)
        assert len({held["nextFeeAt"] for held in client.get("/v1/licenses").json()["data"]}) == 1
