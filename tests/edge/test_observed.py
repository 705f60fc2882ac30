from collections import Counter
from random import Random

import pytest

from accounts.plans.services import update_account
from licensing.edge import observed
from licensing.policies.offers import price_at_stake
from licensing.sites.services import update_site
from tests import factories
from tests.edge.asking import LICENSED, READERS, told

PRICED = {**LICENSED, "pricePerAccess": {"amount": "0.25", "currency": "EUR"}}
NIGHT = {"from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}
LIMITED = {**READERS, "rateLimit": {"requests": 3, "period": "month"}}
VISITORS = ["Mozilla/5.0", "GPTBot/1.0", "Googlebot/2.1", "curl/8"]
PAGES = ["/premium/a", "/limited/b", "/searched/c", "/free/d", "/unknown", "/robots.txt"]


@pytest.fixture
def mixed():
    """A site with policies of many kinds."""

    def make(account, mode):
        rules = {
            "/premium/*": factories.policy(account, PRICED, factories.DENY_ALL),
            "/limited/*": factories.policy(account, LIMITED),
            "/searched/*": factories.policy(account, {**READERS, "permissions": ["search"]}),
            "/free/*": factories.policy(account, factories.ALLOW_ALL),
        }
        return factories.site(account, rules, host="pub.example", mode=mode, unknown="deny")

    return make


def traffic(seed):
    """Generate a day's visits: pages and their visitors."""
    random = Random(seed)
    return [(random.choice(PAGES), random.choice(VISITORS)) for _ in range(40)]


@pytest.mark.parametrize("seed", range(3))
def test_observing_names_exactly_the_requests_that_enforcing_refuses(ask, account, other_account, api, mixed, seed):
    mixed(account, "observe")
    mixed(other_account, "enforce")
    enforced = factories.key_text(other_account, permissions=["access:check"])
    would, refused = Counter(), Counter()
    for page, agent in traffic(seed):
        observed = ask(page, user_agent=agent)
        assert observed.status == 200
        carried_out = ask(page, user_agent=agent, x_licensing_key=enforced)
        reason = carried_out.headers.get("X-Access-Reason")
        assert observed.headers.get("X-Access-Would") == (f"deny; reason={reason}" if reason else None)
        if reason:
            would[observed.headers["X-Access-Requester"]] += 1
            refused[reason] += 1
    report = api.get("/v1/analytics/observed")
    assert {one["reason"]: one["count"] for one in report["byReason"]} == refused
    assert {one["id"]: one["requests"] for one in report["byRequester"]} == would
    assert report["total"] == refused.total() > 0


def test_revenue_at_stake_sums_the_prices_of_observed_denials(ask, account, api, mixed):
    mixed(account, "observe")
    customer = f"Bearer {factories.key_text(account)}"
    for _ in range(3):
        ask("/premium/a", authorization=customer)
        ask("/premium/a", authorization=customer, x_forwarded_method="HEAD")  # never charged
        ask("/premium/a", user_agent="GPTBot/1.0")  # proves nothing, so it could not pay
    for _ in range(2):
        ask("/premium/a")
    report = api.get("/v1/analytics/observed", period="7d")
    assert (report["total"], report["truncated"]) == (11, False)
    assert report["revenueAtStake"] == [{"amount": 0.75, "currency": "EUR"}]
    stakes = {one["id"].partition("_")[0]: one["revenueAtStake"] for one in report["byRequester"]}
    assert stakes == {"key": [{"amount": 0.75, "currency": "EUR"}], "unverified:gptbot": [], "anonymous": []}
    requests = api.get("/v1/analytics/crawlers", by="crawler")["summary"]
    assert (requests["requests"], requests["revenueAtStake"]) == (3, [])


@pytest.mark.parametrize(
    ("condition", "questions"),
    [({}, 1), ({"ip": ["192.0.2.0/24"]}, 2), ({"schedule": NIGHT}, 4), ({"before": "2020-01-01T00:00:00Z"}, 4)],
)
def test_equal_denials_are_priced_together(ask, account, api, monkeypatch, condition, questions):
    cheaper = {**PRICED, "priority": 1, "conditions": {**PRICED["conditions"], **condition}}
    policy = factories.policy(account, cheaper, {**PRICED, "priority": 2}, factories.DENY_ALL)
    factories.site(account, {"/premium/*": policy}, host="pub.example", mode="observe")
    customer = f"Bearer {factories.key_text(account)}"
    for page, address in (("a", "198.51.100.1"), ("a", "203.0.113.7"), ("b", "198.51.100.1"), ("b", "198.51.100.1")):
        ask(f"/premium/{page}", authorization=customer, x_forwarded_for=address)
    priced = []

    def note_question(policy, facts):
        priced.append(facts)
        return price_at_stake(policy, facts)

    monkeypatch.setattr(observed, "price_at_stake", note_question)
    assert api.get("/v1/analytics/observed")["revenueAtStake"] == [{"amount": 1, "currency": "EUR"}]
    assert len(priced) == questions


def test_of_unlisted_signers_only_customers_could_pay(account):
    signer, customer = (factories.requester(account, requester_id=f"agent:{name}.example") for name in ("a", "b"))
    factories.license(account, customer.requester_id)
    assert observed.payers_among([signer.pk, customer.pk]) == [customer.pk]
    update_account(account, {"unlisted_signers": "pay"})
    assert set(observed.payers_among([signer.pk, customer.pk])) == {signer.pk, customer.pk}


def test_the_report_is_of_one_site_if_asked(ask, account, api, mixed):
    own = mixed(account, "observe")
    ask("/premium/a")
    other = factories.site(account)
    assert api.get("/v1/analytics/observed", siteId=own.pk)["total"] == 1
    assert api.get("/v1/analytics/observed", siteId=other.pk)["total"] == 0
    assert api.get("/v1/analytics/observed", siteId="site_nope").error["param"] == "siteId"


def test_the_report_of_a_site_has_its_registered_items(ask, account, api, mixed):
    own = mixed(account, "observe")
    item = factories.content(
        account, source="https://pub.example/free/d", policy_id=factories.policy(account, PRICED).pk
    )
    customer = f"Bearer {factories.key_text(account)}"
    ask("/free/d", authorization=customer)
    ask("/premium/a", authorization=customer)
    report = api.get("/v1/analytics/observed", siteId=own.pk)
    assert {one["id"]: one["requests"] for one in report["byContent"]} == {item.pk: 1, own.pages_id: 1}
    assert (report["total"], report["revenueAtStake"]) == (2, [{"amount": 0.5, "currency": "EUR"}])


def test_from_the_next_request_on_it_is_refused(ask, account, api, mixed):
    site = mixed(account, "observe")
    assert ask("/premium/a").status == 200
    update_site(site, {"mode": "enforce"})
    assert told(ask("/premium/a")) == (402, "deny", "no_license")
    assert api.get("/v1/analytics/observed")["total"] == 1
