from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from analytics.models import ContentRevenue, LedgerEntry, RequesterRevenue
from analytics.revenue.report import rates_for
from analytics.rollups.roll_up import roll_up
from tests import factories, ledger
from tests.client import ApiClient
from tests.lock_waits import at_once


@pytest.fixture
def charged(api, account):
    """Make a check that costs 0.05 EUR each time."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    licence = {
        "requesterId": "org_acme",
        "licenseType": "commercial",
        "price": {"amount": 100, "currency": "EUR"},
        "pricePerAccess": {"amount": "0.05", "currency": "EUR"},
    }
    assert api.post("/v1/licenses", licence).status == 201
    return {"contentId": item.pk, "requester": "org_acme"}


def report(api):
    return api.get("/v1/analytics/revenue", currency="EUR").body


def test_a_charged_check_is_in_the_report_with_its_reply(api, charged):
    for n in range(1, 4):
        assert api.post("/v1/access/check", charged)["allowed"]
        body = report(api)
        assert body["summary"]["total"] == body["byLicenseType"]["commercial"] == round(100 + n * 0.05, 2)
        assert body["byContent"][0]["revenue"] == round(n * 0.05, 2)
    assert body["byRequester"] == [{"id": "org_acme", "name": None, "revenue": 100.15}]


def test_a_charge_is_in_the_list_of_a_year_before_and_after_it_is_rolled_up(api, account, charged):
    for _ in range(12):
        item, before = factories.content(account), timezone.now() - timedelta(days=60)
        ledger.add(account, "0.01", currency="EUR", content=item, occurred_at=before)
    assert api.post("/v1/access/check", charged)["allowed"]
    for _ in range(2):
        listed = api.get("/v1/analytics/revenue", period="year", currency="EUR")["byContent"]
        assert [(one["id"], one["revenue"]) for one in listed[:1]] == [(charged["contentId"], 0.05)]
        roll_up()


@pytest.mark.parametrize("period", ["7d", "year"])
def test_an_entry_of_another_currency_that_comes_meanwhile_is_not_added_up_unconverted(
    api, account, monkeypatch, period
):
    named = {"content": factories.content(account), "requester": ledger.requester(account)}
    ledger.add(account, "1", currency="USD", occurred_at=timezone.now(), **named)

    def rates_for_after_another_entry(sums, currency):
        ledger.add(account, "100", currency="EUR", occurred_at=timezone.now(), **named)
        return rates_for(sums, currency)

    monkeypatch.setattr("analytics.revenue.report.rates_for", rates_for_after_another_entry)
    body = api.get("/v1/analytics/revenue", period=period).body
    assert [one["revenue"] for name in ("byContent", "byRequester") for one in body[name]] == [1, 1]


def test_a_refund_names_the_decision_and_takes_all_else_from_its_charge(api, charged):
    decision = api.post("/v1/access/check", charged)
    refund = {"amount": "-0.05", "currency": "EUR", "description": "Page was empty", "decisionId": decision["id"]}
    made = api.post("/v1/revenue", refund)
    [charge] = api.get("/v1/revenue", type="usage")["data"]
    for name in ("licenseId", "licenseType", "contentId", "requesterId", "decisionId"):
        assert made[name] == charge[name] is not None
    assert report(api)["byContent"][0]["revenue"] == 0


@pytest.mark.slow
def test_figures_agree_at_every_moment_while_threads_add_and_read(transactional_db):
    account = factories.account()
    key = factories.key_text(account)
    items = [factories.content(account).pk for _ in range(4)]
    org = ledger.requester(account)
    seen = []

    def add(worker):
        for n in range(20):
            about = {"license_type": f"tier {n % 3}", "content_id": items[(worker + n) % 4], "requester": org}
            ledger.add(account, "0.01", occurred_at=timezone.now(), **about)

    def post(worker):
        for _ in range(20):
            sale = {"amount": "0.01", "currency": "USD", "description": f"By {worker}", "contentId": items[worker]}
            assert ApiClient(key).post("/v1/revenue", sale).status == 201

    def read():
        while not seen or (seen[-1] < Decimal("0.8") and len(seen) < 500):
            body = ApiClient(key).get("/v1/analytics/revenue", period="7d").body
            cents = round(body["summary"]["total"] * 100)
            assert cents == sum(round(bucket["revenue"] * 100) for bucket in body["timeSeries"])
            assert cents == sum(round(amount * 100) for amount in body["byLicenseType"].values())
            seen.append(Decimal(cents) / 100)

    at_once(partial(add, 0), partial(add, 1), partial(post, 2), partial(post, 3), read)
    assert seen == sorted(seen)
    assert (seen[-1], LedgerEntry.objects.count()) == (Decimal("0.8"), 80)
    roll_up()
    assert sum(one.amount for one in ContentRevenue.objects.all()) == Decimal("0.8")
    assert sum(one.amount for one in RequesterRevenue.objects.all()) == Decimal("0.4")
