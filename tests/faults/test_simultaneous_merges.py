"""Requesters are merged and erased during checks and charges, in all processes."""

import pytest

from tests.factories import LICENSED
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.traffic import in_groups, request, statuses

pytestmark = pytest.mark.faults

CHECKS = 120 if ON_POSTGRESQL else 40
CLIENTS = 8
CONTEXT = {"userAgent": "AdaBrowser/1843"}


def decisions(client, requester):
    return client.rows("/v1/access/decisions", requesterId=requester)


def test_checks_and_charges_beside_a_merge_are_neither_lost_nor_doubled(server: Deployment, key: str) -> None:
    price = {"amount": 1, "currency": "EUR"}
    with server.client(key) as client:
        place = CHECKS // 3
        item = client.item({**LICENSED, "rateLimit": {"requests": 2 * place, "period": "month"}})
        wallets = {}
        for one in ("org_a", "org_b"):
            client.create("/v1/licenses", requesterId=one, licenseType="x", pricePerAccess=price)
            wallets[one] = client.create("/v1/wallets", requesterId=one, unit="EUR")
            client.create(f"/v1/wallets/{wallets[one]}/grants", amount=CHECKS)
        checks = [
            request("POST", "/v1/access/check", key, {"contentId": item, "requester": ("org_a", "org_b")[number % 2]})
            for number in range(CHECKS)
        ]
        merges = [request("POST", "/v1/requesters/org_a/merge", key, {"into": "org_b"}) for _ in range(3)]

        replies = in_groups(server, [*checks[:place], *merges, *checks[place : 2 * place]], CLIENTS)
        replies += in_groups(server, checks[2 * place :], CLIENTS)

        assert statuses(replies) == {200: CHECKS + 3}
        answers = [reply.body for reply in replies if reply.body["object"] == "access_decision"]
        allowed = {one["id"] for one in answers if one["allowed"]}
        assert {one["id"] for one in decisions(client, "org_b")} == {one["id"] for one in answers}
        spent = []
        for wallet in wallets.values():
            shown = client.get(f"/v1/wallets/{wallet}").json()
            entries = client.rows(f"/v1/wallets/{wallet}/entries")
            assert shown["balance"] == sum(one["amount"] for one in entries)
            spent += [one["decisionId"] for one in entries if one["type"] == "spend"]
        assert sorted(spent) == sorted(allowed)
        assert client.get(f"/v1/wallets/{wallets['org_a']}").json()["balance"] == 0
        assert client.get(f"/v1/wallets/{wallets['org_b']}").json()["balance"] == 2 * CHECKS - len(allowed)
        # The limit holds for both together, except checks that were being recorded during the merge.
        assert 2 * place <= len(allowed) <= 2 * place + CLIENTS
        assert [client.check(item, one).json()["reason"] for one in wallets] == ["rate_limit_exceeded"] * 2


def test_decisions_recorded_beside_an_erasure_keep_nothing_of_the_person(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        item = client.item(LICENSED)
        client.post("/v1/requesters", json={"id": "ada", "name": "Ada", "email": "ada@pub.example"})
        body = {"contentId": item, "requester": {"id": "ada", "name": "Ada"}, "context": CONTEXT}
        checks = [request("POST", "/v1/access/check", key, body) for _ in range(CHECKS)]
        place = CHECKS // 3
        erasure = request("DELETE", "/v1/requesters/ada", key)

        replies = in_groups(server, [*checks[:place], erasure, *checks[place:]], CLIENTS)

        assert statuses(replies) == {200: CHECKS + 1}
        answered = {reply.body["id"] for reply in replies if reply.body["object"] == "access_decision"}
        new, erased = client.get("/v1/requesters").json()["data"]
        assert (erased["id"][:7], new["id"]) == ("erased_", "ada")
        kept, later = decisions(client, erased["id"]), decisions(client, "ada")
        assert {one["id"] for one in (*kept, *later)} == answered
        assert len(kept) + len(later) == CHECKS
        assert not any("Ada" in str(one) for one in kept)
        assert len(kept) >= place - CLIENTS
