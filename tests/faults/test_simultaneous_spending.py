"""Simultaneous checks that spend from one wallet, in all processes: exactly as many pass as it covers.

FAULT_CHECKS is the number of observed checks beside them, a multiple of 40.
"""

import itertools
import os
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from tests.factories import LICENSED
from tests.faults.harness import Api, Deployment
from tests.faults.traffic import at_once, request, statuses

pytestmark = pytest.mark.faults

OBSERVED = int(os.environ.get("FAULT_CHECKS") or 40)  # on a slow machine, of 200 some would be recorded too late


def prepaid(client: Api, amount: str, unit: str, requester: str = "org") -> str:
    """Return the new wallet of a requester whose licence costs 0.05 USD per access."""
    price = {"amount": "0.05", "currency": "USD"}
    client.create("/v1/licenses", requesterId=requester, licenseType="a", pricePerAccess=price)
    wallet = client.create("/v1/wallets", requesterId=requester, unit=unit)
    client.create(f"/v1/wallets/{wallet}/grants", amount=amount)
    return wallet


def held(client: Api, wallet: str) -> Any:
    return client.get(f"/v1/wallets/{wallet}").json()["balance"]


@pytest.mark.parametrize(("amount", "unit", "passing"), [("1.02", "USD", 20), ("15", "access", 15)])
def test_of_60_simultaneous_checks_as_many_pass_as_the_wallet_covers(server, key, amount, unit, passing) -> None:
    with server.client(key) as client:
        item, wallet = client.item(LICENSED), prepaid(client, amount, unit)
        body = {"contentId": item, "requester": "org"}

        # Every second request is a retry of the previous one, and spends nothing.
        headers = [{"Idempotency_Key": f"check-{number // 2}"} if number < 20 else {} for number in range(60)]
        replies = at_once(server, [request("POST", "/v1/access/check", key, body, **one) for one in headers])

        assert statuses(replies) == {200: 60}
        allowed = {reply.body["id"] for reply in replies if reply.body["allowed"]}
        assert len(allowed) == passing
        reasons = {reply.body["reason"] for reply in replies if not reply.body["allowed"]}
        assert reasons == {"credits_exhausted" if unit == "USD" else "quota_exceeded"}
        assert held(client, wallet) == (0.02 if unit == "USD" else 0)
        entries = client.rows(f"/v1/wallets/{wallet}/entries")
        assert {one["decisionId"] for one in entries if one["type"] == "spend"} == allowed


def test_a_refill_that_comes_due_is_made_once_whoever_finds_it(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        begun = datetime.now(UTC)
        item, wallet = client.item(LICENSED), prepaid(client, "2", "access")
        made = datetime.now(UTC)
        # As long as these requests took, so that a slow machine sets the refill before it is due, too.
        address, due = f"/v1/wallets/{wallet}", made + max(timedelta(seconds=2), made - begun)
        refill = {"amount": 5, "every": "day", "anchor": (due - timedelta(days=1)).isoformat()}
        assert client.patch(address, json={"refill": refill}).json()["balance"] == 7
        check = request("POST", "/v1/access/check", key, {"contentId": item, "requester": "org"})
        time.sleep(max((due - datetime.now(UTC)).total_seconds(), 0))  # no event tells that a refill is due

        replies = at_once(server, [check, request("GET", f"{address}/entries", key)] * 20)

        assert statuses(replies) == {200: 40}
        assert sum(reply.body.get("allowed", False) for reply in replies) == 7
        entries = client.rows(f"{address}/entries")
        found = Counter((one["type"], one["amount"]) for one in entries)
        assert found == {("grant", 2): 1, ("grant", 5): 2, ("expire", -5): 1, ("spend", -1): 7}
        topped_up = client.get("/v1/events", params={"objectId": wallet, "type": "wallet.topped_up"}).json()["data"]
        assert len(topped_up) == 3


def test_grants_voids_and_checks_at_the_same_moment_lose_nothing(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        item, wallet = client.item(LICENSED), prepaid(client, "100", "access")
        address = f"/v1/wallets/{wallet}/grants"
        voided = [client.post(address, json={"amount": 5}).json()["id"] for _ in range(5)]
        check = request("POST", "/v1/access/check", key, {"contentId": item, "requester": "org"})
        grant = request("POST", address, key, {"amount": 3})
        voids = [request("POST", f"{address}/{one}/void", key, {}) for one in voided]

        replies = at_once(server, [*[check, grant] * 20, *voids, *voids])

        assert statuses(replies) == {200: 30, 201: 20}
        entries = client.rows(f"/v1/wallets/{wallet}/entries")
        assert held(client, wallet) == sum(one["amount"] for one in entries)
        by_type = {kind: [one["amount"] for one in entries if one["type"] == kind] for kind in ("spend", "void")}
        assert (len(by_type["spend"]), len(by_type["void"])) == (20, 5)


def test_refunds_grants_and_a_merge_beside_checks_of_the_same_wallets_wait_for_each_other(server, key):
    """Checks on both paths, some with both wallets, all succeed; balances match entries and decisions.

    A grant that comes after the merge is refused, with the wallet that has the credit.
    """
    with server.client(key) as client:
        item, wallet = client.item(LICENSED), prepaid(client, "100", "USD")
        other = prepaid(client, "100", "USD", "org_b")
        body = {"contentId": item, "requester": "org"}
        charged = [client.check(item, "org").json()["id"] for _ in range(20)]
        refunds = [
            request("POST", "/v1/revenue", key, {"decisionId": one, "amount": "-0.05", "currency": "USD"})
            for one in charged
        ]
        both = {"checks": [{"contentId": item, "requester": one} for one in ("org", "org_b")]}
        ways = [
            lambda number: request("POST", "/v1/access/check", key, body),
            lambda number: request("POST", "/v1/access/check", key, body, Idempotency_Key=f"check-{number}"),
            lambda number: request("POST", "/v1/access/check/batch", key, both),
            lambda number: request(
                "POST", "/v1/access/check", key, body | {"requester": {"id": "org", "name": f"Name {number}"}}
            ),
            lambda number: request("POST", f"/v1/wallets/{(wallet, other)[number % 2]}/grants", key, {"amount": 1}),
        ]
        rest = [way(number) for number in range(20) for way in ways]
        merges = [request("POST", "/v1/requesters/org_b/merge", key, {"into": "org"})]

        replies = at_once(server, [*itertools.chain(*zip(refunds, *[iter(rest)] * 5, strict=True)), *merges])

        late = [one.body["error"]["code"] for one in replies if one.status == 409]
        assert late == ["resource_in_use"] * len(late)
        assert Counter(statuses(replies)) == Counter({200: 81, 201: 40 - len(late), 409: len(late)})
        answers = [one for reply in replies for one in reply.body.get("data", [reply.body])]
        paid = {one["id"] for one in answers if one.get("object") == "access_decision"}
        assert len(paid) == 100
        entries = [client.rows(f"/v1/wallets/{one}/entries") for one in (wallet, other)]
        spends = [one["decisionId"] for some in entries for one in some if one["type"] == "spend"]
        assert sorted(spends) == sorted([*paid, *charged])
        assert [held(client, one) for one in (wallet, other)] == [
            float(sum(Decimal(str(one["amount"])) for one in some)) for some in entries
        ]
        assert sum(held(client, one) for one in (wallet, other)) == 200 + 20 - len(late) + 20 * 0.05 - 120 * 0.05


def test_observed_checks_beside_spending_all_pass_and_spend_nothing(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        item, wallet = client.item(LICENSED), prepaid(client, "15", "access")
        observed = client.create("/v1/content", title="Observed", policyId=client.policy(LICENSED, mode="observe"))
        paid = request("POST", "/v1/access/check", key, {"contentId": item, "requester": "org"})
        free = request("POST", "/v1/access/check", key, {"contentId": observed, "requester": "org"})

        replies = at_once(server, [paid, *[free] * (OBSERVED // 40)] * 40)

        assert statuses(replies) == {200: len(replies)}
        answers = {True: [], False: []}
        for reply in replies:
            answers[reply.body["contentId"] == observed].append(reply.body)
        assert all(one["allowed"] for one in answers[True])
        assert {one["observed"]["reason"] for one in answers[True] if "observed" in one} <= {"quota_exceeded"}
        entries = client.rows(f"/v1/wallets/{wallet}/entries")
        spends = {one["decisionId"] for one in entries if one["type"] == "spend"}
        assert spends == {one["id"] for one in answers[False] if one["allowed"]}
        assert (len(spends), held(client, wallet)) == (15, 0)
