"""A client's own record of its decisions, compared with the service's.

Under load, clients check access while others of the same account change a policy, archive an item and change a
licence's price. The comparison finds decisions made on outdated facts, and those that were lost, stored twice, not
counted, or charged differently from their answer.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from tests.factories import ALLOW_ALL, DENY_ALL, LICENSED
from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import Exchange, Load, request, under_load

CLIENTS = 25
PER_SECOND = 600  # at most; each client waits for its reply, so about 500 are reached
# Of each of the three that change things: after a change every process reads again, and a request that writes takes as
# much as a hundred checks. More of them, and there would be few checks.
WRITES_PER_SECOND = 5
POLICY_WRITER, ITEM_WRITER, BATCHES, PRICE_WRITER = range(4)  # clients; the others make single checks
LIMIT = 1_000_000
LIMITED = {**ALLOW_ALL, "rateLimit": {"requests": LIMIT, "period": "month"}}
PRICES = (0.07, 0.01)  # per access, alternating
RULES = {True: [ALLOW_ALL], False: [DENY_ALL]}


def price(amount: float) -> dict[str, Any]:
    return {"amount": amount, "currency": "EUR"}


def differences(answers: dict[str, dict[str, Any]], stored: dict[str, dict[str, Any]]) -> list[str]:
    """Describe the answered decisions that are not stored, or not as they were answered."""
    found = []
    for id_, answer in answers.items():
        if id_ not in stored:
            found.append(f"lost: {id_}")
        elif differing := [name for name in answer if stored[id_].get(name) != answer[name]]:
            found.append(f"{id_} differs in {differing}")
    return found


@dataclass(frozen=True)
class Write:
    """A requested change, which may have been made even if its reply says otherwise."""

    what: str  # "policy", "item" or "price"
    value: Any


class Ledger:
    """The client of one account. Call `load` any number of times, and `discrepancies` after each."""

    def __init__(self, server: Deployment, key: str) -> None:
        self.server, self.key = server, key
        self.client = server.client(key)
        self.acknowledged: dict[str, dict[str, Any]] = {}
        self.stored: dict[str, dict[str, Any]] = {}
        self.charged: dict[str, dict[str, Any]] = {}  # entries of the service's ledger
        self.unknown = 0  # decisions requested but not answered
        self.writes: dict[str, list[Exchange]] = {"policy": [], "item": [], "price": []}
        self.stale: list[str] = []
        self.compared_at = datetime.now(UTC)
        rules = {"policy": ALLOW_ALL, "item": ALLOW_ALL, "limited": LIMITED, "licensed": LICENSED}
        self.items = {name: self.client.item(rule) for name, rule in rules.items()}
        self.changing = self.client.get(f"/v1/content/{self.items['policy']}").json()["policyId"]
        self.licenses = [self.license(requester) for requester in ("org_0", "org_1", "org_batches")]
        self.turns = count()

    def license(self, requester: str) -> str:
        """License the licensed item only."""
        terms = {"contentIds": [self.items["licensed"]], "pricePerAccess": price(PRICES[0])}
        terms["startsAt"] = "2000-01-01T00:00:00Z"  # whatever a test does to the clock
        return self.client.create("/v1/licenses", requesterId=requester, licenseType="commercial", **terms)

    @contextmanager
    def load(self, clients: int = CLIENTS, per_second: float = PER_SECOND) -> Iterator[Load]:
        paces = dict.fromkeys((POLICY_WRITER, ITEM_WRITER, PRICE_WRITER), WRITES_PER_SECOND)
        with under_load(self.server, self.compose, clients, per_second, paces) as load:
            yield load
        print(load)  # pytest shows it with -rP
        self.note(load.exchanges)

    def compose(self, number: int) -> tuple[Any, bytes]:
        turn = next(self.turns)
        if number == POLICY_WRITER:
            allowed = turn % 2 == 0
            return Write("policy", allowed), self.send("PATCH", f"/v1/policies/{self.changing}", rules=RULES[allowed])
        if number == ITEM_WRITER:
            status = "archived" if turn % 2 else "active"
            return Write("item", status), self.send("PATCH", f"/v1/content/{self.items['item']}", status=status)
        if number == PRICE_WRITER:
            amount = PRICES[turn % 2]
            path = f"/v1/licenses/{self.licenses[0]}"
            return Write("price", amount), self.send("PATCH", path, pricePerAccess=price(amount))
        names = list(self.items)
        if number == BATCHES:
            checks = [{"contentId": self.items[name]} for name in (*names, names[turn % len(names)])]
            return len(checks), self.send("POST", "/v1/access/check/batch", requester="org_batches", checks=checks)
        body = {"contentId": self.items[names[turn % len(names)]], "requester": f"org_{number % 2}"}
        return 1, self.send("POST", "/v1/access/check", **body)

    def send(self, method: str, path: str, **body: Any) -> bytes:
        return request(method, path, self.key, body, Connection="keep-alive")

    def note(self, exchanges: list[Exchange]) -> None:
        """Record the replies; assert that the only errors are enveloped 503s."""
        checks = []
        for exchange in sorted(exchanges, key=lambda exchange: exchange.begun):
            reply = exchange.reply
            assert reply.status in (0, 200, 503), reply
            if reply.status == 503:
                assert reply.body["error"]["code"] == "service_unavailable"
                assert {"x-request-id", "x-ratelimit-limit", "retry-after"} <= set(reply.headers)
            if isinstance(exchange.tag, Write):
                self.writes[exchange.tag.what].append(exchange)
            elif reply.status == 200:
                checks.append(exchange)
            else:
                self.unknown += exchange.tag
        for exchange in checks:
            body = exchange.reply.body
            for answer in body["data"] if body["object"] == "list" else [body]:
                assert answer["id"] not in self.acknowledged
                self.acknowledged[answer["id"]] = answer
                if not self.is_current(answer, exchange):
                    self.stale.append(f"stale: {answer}")

    def is_current(self, answer: dict[str, Any], check: Exchange) -> bool:
        """Whether the answer fits the account's state at any time between the check and its reply."""
        if answer["contentId"] == self.items["policy"]:
            done = (write.reply for write in self.writes["policy"] if write.ended < check.begun)
            newest = max((reply.body["version"] for reply in done if reply.status == 200), default=1)
            return answer["policyVersion"] >= newest
        if answer["contentId"] == self.items["item"]:
            return ("active" if answer["allowed"] else "archived") in self.states("item", "active", check)
        if answer["contentId"] == self.items["licensed"] and answer["requester"]["id"] == "org_0":
            return (answer["charge"] or {}).get("amount") in self.states("price", PRICES[0], check)
        return True

    def states(self, what: str, first: Any, check: Exchange) -> list[Any]:
        """Return the possible values between the check and its reply."""
        states = [first]
        for write in self.writes[what]:
            if write.ended < check.begun and write.reply.status == 200:
                states = []
            if write.begun < check.ended:
                states.append(write.tag.value)
        return states

    def probe(self) -> dict[str, Any] | None:
        """Check once more under the limited rule; None while the service recovers."""
        reply = self.client.check(self.items["limited"], "org_0")
        self.unknown += reply.status_code != 200
        return reply.json() if reply.status_code == 200 else None

    def discrepancies(self) -> list[str]:
        """Describe the differences between the service's record and the client's."""
        begun = datetime.now(UTC)
        last = eventually(self.probe)
        self.acknowledged[last["id"]] = last
        since, self.compared_at = self.compared_at, begun
        fresh = self.client.rows("/v1/access/decisions", **{"created[gte]": since.isoformat()})
        self.stored |= {decision["id"]: decision for decision in fresh}
        total = self.client.page("/v1/access/decisions", limit=1)["totalCount"]

        found = [f"{total} stored, {len(self.stored)} known"] if total != len(self.stored) else []
        if (unasked := total - len(self.acknowledged) - self.unknown) > 0:
            found.append(f"{unasked} stored that nobody asked for")
        found += differences(self.acknowledged, self.stored)
        entries = self.client.rows("/v1/revenue", **{"type": "usage", "created[gte]": since.isoformat()})
        self.charged |= {entry["id"]: entry for entry in entries}
        return found + self.stale + self.wrong_decisions(fresh) + self.wrong_figures(last) + self.wrong_charges()

    def wrong_decisions(self, decisions: list[dict[str, Any]]) -> list[str]:
        versions = self.client.rows(f"/v1/policies/{self.changing}/versions")
        rules = {revision["version"]: revision["rules"][0]["action"] for revision in versions}
        return [
            f"{decision['id']} contradicts its policy"
            for decision in decisions
            if decision["contentId"] == self.items["policy"]
            and decision["allowed"] is not (rules[decision["policyVersion"]] == "allow")
        ]

    def wrong_charges(self) -> list[str]:
        """Compare charges with the answers: each decision is charged once as answered, and nothing else is."""
        said: dict[str, list[float]] = defaultdict(list)
        for id_, decision in (self.stored | self.acknowledged).items():
            if decision["charge"]:
                said[id_].append(decision["charge"]["amount"])
        entered: dict[str, list[float]] = defaultdict(list)
        for entry in self.charged.values():
            entered[entry["decisionId"]].append(entry["amount"])
        found = [
            f"{id_} costs {said[id_]}, and the ledger has {entered[id_]}"
            for id_ in sorted({*said, *entered})
            if said[id_] != entered[id_]
        ]
        cents = sum(round(entry["amount"] * 100) for entry in self.charged.values())
        report = self.client.page("/v1/analytics/revenue", period="7d", currency="EUR")["summary"]
        if round(report["total"] * 100) != cents:
            found.append(f"{report} for {cents} cents")
        return found

    def wrong_figures(self, last: dict[str, Any]) -> list[str]:
        found = []
        for name, item in self.items.items():
            allowed = [decision["allowed"] for decision in self.stored.values() if decision["contentId"] == item]
            expected = {
                "totalRequests": len(allowed),
                "allowedRequests": sum(allowed),
                "deniedRequests": len(allowed) - sum(allowed),
            }
            if (stats := self.client.page(f"/v1/content/{item}")["stats"]) != expected:
                found.append(f"{name}: {stats} for {expected}")
        used = sum(
            decision["contentId"] == self.items["limited"] and decision["requester"]["id"] == "org_0"
            for decision in self.stored.values()
        )
        if last["rateLimit"]["remaining"] != LIMIT - used:
            found.append(f"{last['rateLimit']['remaining']} of {LIMIT} left after {used} uses")
        return found
