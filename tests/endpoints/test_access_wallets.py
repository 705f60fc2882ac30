from datetime import timedelta
from decimal import Decimal

import pytest

from analytics.models import LedgerEntry, Wallet, WalletEntry
from licensing.policies.facts import Shortfall
from tests import factories
from tests.decisions.facts_seen import recorded_and_replayed


@pytest.fixture
def held(account):
    return factories.license(account, per_access="0.05")


@pytest.fixture
def fund(account, held):
    def make(amount, unit="USD", **fields):
        return factories.wallet(account, unit, amount, requester_id="org_acme", **fields)["wallet"]

    return make


def balance(wallet):
    return Wallet.objects.get(pk=wallet).balance


def spends():
    return WalletEntry.objects.filter(type="spend").count()


def test_a_grant_shows_its_remaining_amount_after_each_check(check, fund, api):
    wallet = f"/v1/wallets/{fund(1)}"
    body = {"amount": 0.05, "priority": 0, "externalId": "inv-1"}
    spent_first = api.post(f"{wallet}/grants", body)["id"]
    [_, spent_later] = [one["id"] for one in api.get(f"{wallet}/grants")["data"]]
    shown = []
    for _ in range(2):
        check()
        listed = {one["id"]: (one["remaining"], one["status"]) for one in api.get(f"{wallet}/grants")["data"]}
        alone = {id_: api.get(f"{wallet}/grants/{id_}") for id_ in listed}
        assert listed == {id_: (one["remaining"], one["status"]) for id_, one in alone.items()}
        shown.append((listed[spent_first], listed[spent_later]))
    assert shown == [((0, "ended"), (1, "active")), ((0, "ended"), (0.95, "active"))]
    again, read = api.post(f"{wallet}/grants", body), alone[spent_first]
    assert (again.status, again.body, again.headers["ETag"]) == (200, read.body, read.headers["ETag"])


def test_an_allowed_check_spends_its_price_and_shows_the_balance(check, fund, api):
    wallet = fund(1)
    made = check()
    assert made["allowed"] is True
    assert made["credits"] == {"walletId": wallet, "unit": "USD", "remaining": 0.95}
    assert (made["charge"], made["cacheFor"]) == ({"amount": 0.05, "currency": "USD"}, 0)
    assert (balance(wallet), spends()) == (Decimal("0.95"), 1)
    assert api.get(f"/v1/access/decisions/{made['id']}")["credits"] == made["credits"]


def test_exactly_as_many_checks_pass_as_the_balance_and_its_floor_cover(check, fund, api):
    wallet = fund("0.2")
    answers = [check() for _ in range(7)]
    assert [answer["allowed"] for answer in answers] == [True] * 4 + [False] * 3
    denied = answers[-1]
    assert denied["reason"] == "credits_exhausted"
    missing = {"walletId": wallet, "unit": "USD", "required": 0.05, "available": 0, "nextRefillAt": None}
    assert (denied["credits"], denied["permissions"], denied["cacheFor"]) == (missing, [], 0)
    assert (balance(wallet), spends(), LedgerEntry.objects.count()) == (0, 4, 4)
    api.patch(f"/v1/wallets/{wallet}", {"floor": "-0.1"})
    assert [check()["allowed"] for _ in range(3)] == [True, True, False]
    assert balance(wallet) == Decimal("-0.1")


def test_a_quota_counts_each_decision_that_a_licence_allows(check, fund, item):
    wallet = fund(2, "access")
    first, second, third = check(), check(), check()
    assert first["credits"] == {"walletId": wallet, "unit": "access", "remaining": 1}
    assert second["allowed"] is True
    assert third["reason"] == "quota_exceeded"
    assert third["credits"]["required"] == 1


def test_the_wallet_of_the_licence_pays_first_and_without_one_the_charge_is_billed(check, fund, held):
    fund(0.01, "EUR")
    made = check()
    assert (made["allowed"], "credits" in made.body) == (True, False)
    assert LedgerEntry.objects.count() == 1
    own, of_license = fund(1), fund(1, license_id=held.pk)
    assert check()["credits"]["walletId"] == of_license
    assert (balance(own), balance(of_license)) == (1, Decimal("0.95"))


def test_a_dry_run_and_a_denial_spend_nothing(check, fund):
    wallet = fund("0.05")
    assert check(dryRun=True)["credits"]["remaining"] == 0
    assert check(permission="print")["allowed"] is True
    assert (check(dryRun=True)["reason"], balance(wallet), spends()) == ("credits_exhausted", 0, 1)


@pytest.fixture
def observed(account):
    """An item whose policy only observes."""
    return factories.content(account, policy_id=factories.policy(account, mode="observe").pk)


@pytest.mark.parametrize("amount", ["0.01", "10"])
def test_an_observed_decision_charges_neither_wallet_nor_ledger(check, observed, fund, amount):
    wallet = fund(amount)
    made = check(contentId=observed.pk)
    assert (made["allowed"], made["charge"], "credits" in made.body) == (True, None, False)
    assert (balance(wallet), spends(), LedgerEntry.objects.count()) == (Decimal(amount), 0, 0)


@pytest.fixture
def limited_item(account):
    """An item that may be read once a month."""
    rule = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 1, "period": "month"}}
    return factories.content(account, policy_id=factories.policy(account, rule).pk).pk


def test_only_an_allowed_check_spends_and_counts_for_the_rate_limit(api, fund, limited_item):
    wallet = fund("0.01")
    body = {"contentId": limited_item, "requester": "org_acme"}
    assert api.post("/v1/access/check", body)["reason"] == "credits_exhausted"
    api.post(f"/v1/wallets/{wallet}/grants", {"amount": "0.99"})
    first, second = (api.post("/v1/access/check", body) for _ in range(2))
    assert (first["allowed"], second["reason"]) == (True, "rate_limit_exceeded")
    assert "credits" not in second.body
    assert (balance(wallet), spends()) == (Decimal("0.95"), 1)


def simulate(api, item, **draft):
    made = api.post(f"/v1/policies/{item.policy_id}/simulate", draft)
    assert made.status == 200, made
    return made["deniedToAllowed"], made["allowedToDenied"], made["reasonChanged"]


@pytest.mark.parametrize(("amount", "unit"), [("0.12", "USD"), (2, "access")])
def test_a_simulation_repeats_the_denials_of_wallets(api, item, check, fund, amount, unit):
    fund(amount, unit)
    assert [check()["allowed"] for _ in range(3)] == [True, True, False]
    assert simulate(api, item) == (0, 0, 0)
    assert simulate(api, item, rules=[], defaultAction="deny") == (0, 2, 1)


def test_the_shortfall_of_a_wallet_is_recorded_as_a_fact(check, fund):
    fund("0.01")
    recorded, replayed = recorded_and_replayed(check()["id"])
    assert recorded == replayed
    assert recorded.shortfall == Shortfall("USD", 10_000)


def test_a_refund_returns_the_paid_amount_to_its_wallet(api, check, fund):
    wallet = fund(1)
    made = check()["id"]
    for amount, left in (("-0.02", "0.97"), ("-0.03", "1"), ("0.05", "1"), ("-0.05", "1")):
        assert api.post("/v1/revenue", {"amount": amount, "currency": "USD", "decisionId": made}).status == 201
        assert balance(wallet) == Decimal(left)
    [_, *refunds] = reversed(api.get(f"/v1/wallets/{wallet}/grants")["data"])
    assert [(one["kind"], one["amount"]) for one in refunds] == [("refund", 0.02), ("refund", 0.03)]


def test_a_refill_is_spent_from_its_moment_on(clock, api, account, held, check):
    refill = {"amount": 1, "every": "day"}
    wallet = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})["id"]
    seen = [check()["allowed"], check()["credits"]["nextRefillAt"]]
    clock.now += timedelta(days=1)
    seen += [check()["allowed"], check()["reason"]]
    assert seen == [True, "2026-03-05T05:06:07.250000Z", True, "quota_exceeded"]
    assert balance(wallet) == 0


def test_an_observed_check_says_that_a_wallet_would_not_cover_it_and_spends_nothing(check, fund, observed, api):
    wallet = fund("0.05")
    covered = check(contentId=observed.pk)
    assert (covered["allowed"], "observed" in covered.body) == (True, False)
    check()
    assert balance(wallet) == 0
    lacking = check(contentId=observed.pk)
    assert (lacking["allowed"], lacking["permissions"], lacking["charge"]) == (True, [], None)
    assert lacking["observed"] == {"allowed": False, "reason": "credits_exhausted"}
    assert "credits" not in lacking.body
    kept = api.get(f"/v1/access/decisions/{lacking['id']}")
    assert {name: kept[name] for name in lacking.body} == lacking.body
    assert (balance(wallet), spends(), LedgerEntry.objects.count()) == (0, 1, 1)
    dry = check(contentId=observed.pk, dryRun=True)
    assert dry["observed"] == lacking["observed"]


def test_observed_checks_of_a_batch_are_each_compared_with_the_whole_balance(api, fund, observed, item):
    wallet = fund(1, "access")
    checks = [{"contentId": one.pk} for one in (observed, observed, item, observed)]
    batch = api.post("/v1/access/check/batch", {"requester": "org_acme", "checks": checks})["data"]
    assert not any("observed" in one for one in batch)
    assert (balance(wallet), spends()) == (0, 1)
    batch = api.post("/v1/access/check/batch", {"requester": "org_acme", "checks": checks})["data"]
    reasons = [(one["reason"], one.get("observed", {}).get("reason")) for one in batch]
    assert reasons == [(None, "quota_exceeded")] * 2 + [("quota_exceeded", None), (None, "quota_exceeded")]
    assert spends() == 1


def test_observed_checks_without_credit_are_allowed_and_count_nothing(check, fund, account):
    fund("0.01")
    rule = {**factories.ALLOW_ALL, "conditions": {"hasValidLicense": True}}
    policy = factories.policy(account, {**rule, "rateLimit": {"requests": 1, "period": "day"}}, mode="observe")
    item = factories.content(account, policy_id=policy.pk)
    answers = [check(contentId=item.pk) for _ in range(2)]
    assert [one["observed"]["reason"] for one in answers] == ["credits_exhausted"] * 2
    assert [one["rateLimit"] for one in answers] == [None] * 2
