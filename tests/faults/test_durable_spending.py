"""kill -9 during checks that spend: balances, entries and decisions agree, and no answered check is lost.

SPENDING_KILLS sets how often the server is killed, and PostgreSQL; 20 before a release.
"""

import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from tests.factories import LICENSED
from tests.faults.conftest import ON_POSTGRESQL
from tests.faults.harness import Deployment
from tests.faults.ledger import differences
from tests.faults.traffic import Load, request, under_load

pytestmark = pytest.mark.faults

KILLS = int(os.environ.get("SPENDING_KILLS") or 2)
PRICE = Decimal("0.05")
CLIENTS = 12
SHARED, GRANTS, VOIDS = 0, 1, 2  # clients; each of the others is a separate requester


class Spenders:
    """Requesters under load, each with a wallet; half of the clients share one requester."""

    def __init__(self, server: Deployment, key: str) -> None:
        self.server, self.key = server, key
        self.turns = count()
        self.answered: dict[str, dict[str, Any]] = {}
        with server.client(key) as client:
            self.item = client.item(LICENSED)
            self.wallets = {}
            price = {"amount": str(PRICE), "currency": "USD"}
            for number in range(4):
                client.create("/v1/licenses", requesterId=f"org_{number}", licenseType="a", pricePerAccess=price)
                for unit, amount in (("USD", 2 + number), ("access", 500)):
                    wallet = client.create("/v1/wallets", requesterId=f"org_{number}", unit=unit)
                    client.create(f"/v1/wallets/{wallet}/grants", amount=amount)
                    self.wallets[number, unit] = wallet

    def compose(self, number: int) -> tuple[Any, bytes]:
        turn, keep = next(self.turns), {"Connection": "keep-alive"}
        money = self.wallets[turn % 4, "USD"]
        if number == GRANTS:
            body = {"amount": "0.31", "externalId": f"order-{turn}", "priority": turn % 3}
            return "grant", request("POST", f"/v1/wallets/{money}/grants", self.key, body, **keep)
        body = {"contentId": self.item, "requester": f"org_{number % 4 if number % 2 else SHARED}"}
        return "check", request("POST", "/v1/access/check", self.key, body, **keep)

    def spend_until(self, kill: Callable[[], None], attempt: int) -> None:
        with under_load(self.server, self.compose, CLIENTS, 300, {GRANTS: 10}) as load:
            load.wait_for(120 + 5 * attempt)
            kill()
        self.note(load)

    def note(self, load: Load) -> None:
        for exchange in load.exchanges:
            assert exchange.reply.status in (0, 200, 201, 503), exchange.reply
            if exchange.tag == "check" and exchange.reply.status == 200:
                self.answered[exchange.reply.body["id"]] = exchange.reply.body

    def discrepancies(self) -> list[str]:
        with self.server.client(self.key) as client:
            decisions = {one["id"]: one for one in client.rows("/v1/access/decisions")}
            found = differences(self.answered, decisions)
            for (number, unit), wallet in self.wallets.items():
                entries = client.rows(f"/v1/wallets/{wallet}/entries")
                spends = [one["decisionId"] for one in entries if one["type"] == "spend"]
                own = [one for one in decisions.values() if one["requester"]["id"] == f"org_{number}"]
                paid = {one["id"] for one in own if one["allowed"]}
                if sorted(spends) != sorted(paid):
                    found.append(f"{len(spends)} spends in {unit} of {len(paid)} decisions")
                balance = Decimal(str(client.get(f"/v1/wallets/{wallet}").json()["balance"]))
                total = sum((Decimal(str(one["amount"])) for one in entries), Decimal(0))
                left = sum(Decimal(str(one["remaining"])) for one in client.rows(f"/v1/wallets/{wallet}/grants"))
                if not balance == total == left or balance < 0:
                    found.append(f"the balance {balance}, entries {total}, grants {left}")
            charged = {one["decisionId"] for one in client.rows("/v1/revenue") if one["type"] == "usage"}
            allowed = {id_ for id_, one in decisions.items() if one["allowed"]}
            if charged != allowed:
                found.append(f"{len(charged ^ allowed)} charges without decision or the reverse")
        return found


@pytest.fixture(scope="module")
def all_spenders(deployment: Deployment, keys: Iterator[str]) -> Spenders:
    """Wallets for all kills, whose data must survive them all."""
    deployment.start()
    return Spenders(deployment, next(keys))


@pytest.fixture
def spenders(all_spenders: Spenders) -> Spenders:
    all_spenders.server.start()
    return all_spenders


@pytest.mark.parametrize("attempt", range(KILLS))
def test_balances_are_entries_are_decisions_when_the_server_is_killed(spenders: Spenders, attempt: int) -> None:
    spenders.spend_until(spenders.server.kill, attempt)
    spenders.server.start()

    assert spenders.discrepancies() == []
    assert spenders.answered


if ON_POSTGRESQL:

    @pytest.mark.parametrize("attempt", range(KILLS))
    def test_balances_are_entries_are_decisions_when_postgresql_is_killed(spenders: Spenders, attempt: int) -> None:
        database = spenders.server.postgres
        assert database

        def crash() -> None:
            database.kill()
            database.start()

        spenders.spend_until(crash, attempt)

        assert spenders.discrepancies() == []
