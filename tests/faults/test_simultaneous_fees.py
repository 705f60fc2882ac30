"""Fees fall due while all processes read and change what they count in: each is booked once."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults

LICENSES = 12
FEE = {"amount": "5", "currency": "USD", "every": "month"}


def test_each_fee_is_booked_once(server: Deployment, key: str) -> None:
    begin = (datetime.now(UTC) + timedelta(seconds=3)).isoformat()
    rows = [
        {"requesterId": "org_payer", "externalId": f"c-{number}", "licenseType": "a", "startsAt": begin, "fee": FEE}
        for number in range(LICENSES)
    ]
    with server.client(key) as client:
        issued = client.post("/v1/licenses/bulk", json={"items": rows}).json()["data"]
        ids = {outcome["license"]["id"] for outcome in issued}
        reads = [request("GET", path, key) for path in ("/v1/revenue", "/v1/statements", "/v1/licenses")] * 4
        changes = [
            request("PATCH", f"/v1/licenses/{id_}", key, {"metadata": {"note": "x"}, "fee": {**FEE, "amount": "6"}})
            for id_ in ids
        ]
        bulk = [request("POST", "/v1/licenses/bulk", key, {"items": rows})]

        def all_booked() -> bool:
            assert statuses(at_once(server, [*reads, *changes, *bulk])) == {200: len(reads) + len(changes) + 1}
            return bool(client.get("/v1/revenue?type=fee").json()["data"])

        assert eventually(all_booked, 60)
        entries = client.get("/v1/revenue?limit=100").json()["data"]
        assert sorted(entry["licenseId"] for entry in entries) == sorted(ids)
        assert {entry["type"] for entry in entries} == {"fee"}
        [statement] = client.get("/v1/statements?requesterId=org_payer").json()["data"]
        assert (statement["lines"], statement["fees"], statement["total"]) == (
            LICENSES,
            sum(entry["amount"] for entry in entries),
            statement["fees"],
        )
        assert len({held["nextFeeAt"] for held in client.get("/v1/licenses").json()["data"]}) == 1
