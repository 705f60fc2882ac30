"""Simultaneous payments, voids and paid grants in all processes count once."""

import pytest

from tests.faults.harness import Deployment
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults


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
