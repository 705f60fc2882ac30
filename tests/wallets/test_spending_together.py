"""Checks that share a commit spend the same as one by one, whatever their wallets need.

The former spend in one statement, the latter in a transaction each.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from accounts.events.models import Event
from analytics.models import AccessEvent, Grant, LedgerEntry, Wallet, WalletEntry
from analytics.recording.batch import Batch
from analytics.recording.outcomes import UNPAID, Outcome
from licensing.access.event_loop.application import CheckApplication
from licensing.access.event_loop.calls import Calls
from licensing.access.event_loop.gateway import Gateway
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.examples import examples
from tests.wallets.together import post_together
from tests.ways import GatewayClient

PRICES = {"cheap": "0.05", "dear": "0.12", "free": None}
UNITS = st.sampled_from(["USD", "access"])
MONEY = st.sampled_from(["0.05", "0.12", "0.3", "0.9", "2"])
TERMS = st.fixed_dictionaries(
    {
        "unit": UNITS,
        "floor": st.sampled_from([0, 0, -1]),
        "thresholds": st.lists(
            st.sampled_from([{"percent": 50}, {"percent": 91}, {"value": 1}, {"value": "0.31"}]), max_size=2
        ),
        "refill": st.sampled_from([None, None, {"amount": 1, "every": "day", "rollover": {"min": 0, "max": 1}}]),
    }
)
WALLETS = st.lists(st.tuples(TERMS, st.booleans()), min_size=1, max_size=3, unique_by=lambda one: one[0]["unit"])
# Several checks of one request are decided in order; simultaneous requests in any order.
IN_ORDER = st.lists(st.sampled_from(list(PRICES)), min_size=1, max_size=6).map(lambda names: [names])
ALIKE = st.tuples(st.sampled_from(list(PRICES)), st.integers(1, 12)).map(lambda one: [[one[0]]] * one[1])
CHECKS = st.tuples(st.just("check"), IN_ORDER | ALIKE)
GRANTS = st.tuples(
    st.just("grant"),
    st.tuples(st.integers(0, 2), MONEY, st.integers(1, 9), st.sampled_from([None, 0, 3])),
    st.sampled_from([None, 5, 30]),
)
WAITS = st.tuples(st.just("wait"), st.sampled_from([1, 6, 24]))
STEPS = st.lists(CHECKS | CHECKS | GRANTS | WAITS, min_size=2, max_size=12)


class InTransactions(Gateway):
    """A gateway that decides every check in a transaction."""

    async def check_on_cached_facts(self, *arguments: Any, **options: Any) -> None:
        return None


class Publisher:
    """An account whose checks are made together or one by one, and their records."""

    def __init__(self, time: Any, application: CheckApplication, *, together: bool) -> None:
        self.together, self.clock = together, time
        self.account = factories.account()
        self.api = GatewayClient(factories.key_text(self.account), application)
        policy = factories.policy(self.account)
        self.items = {name: factories.content(self.account, policy_id=policy.pk).pk for name in PRICES}
        self.licenses = {
            name: factories.license(
                self.account, content_ids=[self.items[name]], **({} if price is None else {"per_access": price})
            ).pk
            for name, price in PRICES.items()
        }
        self.wallets: list[str] = []

    def open(self, terms: dict[str, Any], of_license: bool) -> None:
        held = self.licenses["dear"] if of_license else None
        body = {"requesterId": "org_acme", "licenseId": held, **terms}
        made = self.api.post("/v1/wallets", body)
        assert made.status == 201, made
        self.wallets.append(made["id"])

    def grant(self, which: tuple[int, str, int, int | None], lasts: int | None) -> None:
        number, money, accesses, begins = which
        wallet = self.wallets[number % len(self.wallets)]
        unit = Wallet.objects.get(pk=wallet).unit
        begin = self.clock.now + timedelta(hours=begins or 0)
        fields = {
            "amount": accesses if unit == "access" else money,
            "effectiveAt": begin.isoformat() if begins else None,
        }
        end = None if lasts is None else (begin + timedelta(hours=lasts)).isoformat()
        assert self.api.post(f"/v1/wallets/{wallet}/grants", {**fields, "expiresAt": end}).status == 201

    def check(self, requests: Sequence[Sequence[str]]) -> list[Any]:
        """Return the answers to simultaneous requests, each with one or several checks."""
        bodies = [
            {"requester": "org_acme", "checks": [{"contentId": self.items[name]} for name in names]}
            for names in requests
        ]
        if self.together:
            replies = post_together(self.api, "/v1/access/check/batch", bodies)
        else:
            replies = [self.api.post("/v1/access/check/batch", body) for body in bodies]
        return sorted([self.shown(one) for one in reply["data"]] for reply in replies)

    def shown(self, answer: Any) -> Any:
        """An answer without its ids."""
        spent = {name: value for name, value in answer.get("credits", {}).items() if name != "walletId"}
        pays = answer.get("credits") and self.wallets.index(answer["credits"]["walletId"])
        return str((answer["allowed"], answer["reason"], answer["charge"], answer["cacheFor"], pays, spent))

    def left_behind(self) -> Any:
        """Return the account's wallets, grants, entries, decisions and events, without ids."""
        wallets = [Wallet.objects.get(pk=one) for one in self.wallets]
        decisions = AccessEvent.objects.filter(account=self.account)
        events = Event.objects.filter(account=self.account, type__startswith="wallet.").order_by("pk")
        entries = WalletEntry.objects.filter(account=self.account)
        told = [
            (event.type, data["unit"], data["balance"], orjson.loads(event.previous or "{}"))
            for event, data in ((event, orjson.loads(event.data)) for event in events)
        ]
        spends = list(entries.filter(decision__isnull=False).values_list("decision", flat=True))
        paid = {one.pk for one in decisions if one.allowed and "credits" in one.facts}
        assert set(spends) == paid
        return {
            "wallets": [(one.balance, one.exhausted_at, one.next_change_at, one.reference) for one in wallets],
            "grants": [
                self.api.get(f"/v1/wallets/{one}/grants")["data"][place]["remaining"]
                for one in self.wallets
                for place in range(Grant.objects.filter(wallet=one).count())
            ],
            "entries": sorted(
                (self.wallets.index(one.wallet_id), one.type, one.amount, one.created) for one in entries
            ),
            "decisions": sorted(
                str((one.allowed, one.reason, {**one.facts.get("credits", {}), "walletId": None})) for one in decisions
            ),
            "charges": sorted(LedgerEntry.objects.filter(account=self.account).values_list("amount", "created")),
            "events": sorted(map(str, told)),
        }


@pytest.fixture
def recorded(monkeypatch):
    """The outcomes of requests that spent, or lacked credit, in one statement."""
    found: list[Outcome] = []
    outcomes = Batch.outcomes

    def noted(self, *args, **options):
        made = outcomes(self, *args, **options)
        found.extend(one for one in made if one == UNPAID or one.available is not None)
        return made

    monkeypatch.setattr(Batch, "outcomes", noted)
    return found


PREPAID = {"unit": "USD", "floor": 0, "thresholds": [{"value": "0.31"}], "refill": None}
DOWN_TO_NOTHING = [
    ("grant", (0, "0.9", 1, None), None),
    *[("check", [["cheap", "dear"]])] * 2,
    ("check", [["dear"]] * 6),
    ("check", [["cheap", "dear", "cheap"]]),
]


@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(wallets=WALLETS, steps=STEPS)
@example(wallets=[(PREPAID, False)], steps=DOWN_TO_NOTHING)
def compare(clock, application, wallets, steps):  # noqa: F811
    begin = clock.now
    together = Publisher(clock, application, together=True)
    in_transactions = InTransactions(Calls(on_loop=False))
    in_transactions.callers.limits = None
    one_by_one = Publisher(clock, CheckApplication(in_transactions), together=False)
    for publisher in (together, one_by_one):
        for terms, of_license in wallets:
            publisher.open(terms, of_license)
    for step, *given_ in steps:
        if step == "wait":
            clock.now += timedelta(hours=given_[0])
            continue
        first, second = (getattr(publisher, step)(*given_) for publisher in (together, one_by_one))
        assert first == second
    first, second = (publisher.left_behind() for publisher in (together, one_by_one))
    assert first == second
    clock.now = begin


@pytest.mark.slow
def test_checks_of_one_commit_spend_as_if_one_by_one(db, clock, application, recorded):  # noqa: F811
    compare(clock, application)
    assert {one == UNPAID for one in recorded} == {False, True}
