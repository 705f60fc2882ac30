import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from accounts.plans.services import update_account
from analytics.models import LedgerEntry
from licensing.policies.facts import Shortfall
from licensing.sites.models import Site
from licensing.sites.services import update_site
from tests import factories
from tests.decisions.facts_seen import Seen, recorded_and_replayed
from tests.edge.asking import READERS
from tests.edge.tokens import ask_token
from tests.examples import examples

PRICED = {
    "action": "allow",
    "priority": 1,
    "conditions": {"licenseType": "premium"},
    "permissions": ["full_access"],
    "pricePerAccess": {"amount": "0.5", "currency": "USD"},
}
HELD = {"action": "allow", "priority": 2, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
AGENTS = [None, "Mozilla/5.0", "GPTBot/1.0", "Googlebot/2.1", "x" * 2_000]
PATHS = ["/premium/a", "/premium/b?c=d", "/elsewhere", "/item"]


@pytest.fixture(autouse=True)
def _full_addresses(account):
    """Store addresses as they were decided on."""
    update_account(account, {"visitor_addresses": "full"})


@pytest.fixture
def seen(monkeypatch):
    return Seen(monkeypatch)


@pytest.fixture
def page(account, site):
    """Create a site in that mode, with prices, a registered item and pages without a policy."""

    def make(mode="enforce"):
        site(PRICED, HELD, READERS, mode=mode)
        factories.content(account, source="https://pub.example/item", tags=["open"], category="finance")

    return make


@pytest.fixture
def ask_with_token(ask, account):
    factories.license(account, per_access="0.25")
    client = factories.license_client(account)
    issued = []

    def ask_with_token(path, **headers):
        if not issued:
            issued.append(ask_token(*client).json()["access_token"])
        return ask(path, authorization=f"License {issued[0]}", **headers)

    return ask_with_token


@pytest.fixture
def own_key(account):
    return factories.key_text(account)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    path=st.sampled_from(PATHS),
    agent=st.sampled_from(AGENTS),
    method=st.sampled_from(["GET", "HEAD"]),
    sent=st.sampled_from(["nothing", "token", "key"]),
    price=st.sampled_from([None, "USD 1.00", "USD 0.10"]),
    address=st.sampled_from(["203.0.113.9", "2001:db8::7"]),
)
@pytest.mark.parametrize("mode", ["enforce", "observe", "disabled"])
def test_the_edge_records_the_facts_that_it_decided_on(
    ask, ask_with_token, account, page, seen, own_key, mode, path, agent, method, sent, price, address
):
    if not account.sites.exists():
        page(mode)
    headers = {"user_agent": agent, "x_forwarded_method": method, "x_forwarded_for": address}
    if sent == "key":
        headers["authorization"] = f"Bearer {own_key}"
    reply = (ask_with_token if sent == "token" else ask)(path, crawler_max_price=price, **headers)
    assume("X-Access-Id" in reply.headers)
    assert recorded_and_replayed(reply.headers["X-Access-Id"]) == (seen.answers[-1].facts,) * 2


def test_the_refusal_of_a_host_is_recorded_on_its_facts(ask, account, page, seen):
    page()
    key = factories.key_text(account, permissions=["access:check"], allowed_hosts=["pub.example"])
    reply = ask("/premium/a", x_licensing_key=key, x_forwarded_host="other.example")
    assert seen.answers[-1].facts.is_elsewhere is True
    assert recorded_and_replayed(reply.headers["X-Access-Id"]) == (seen.answers[-1].facts,) * 2


def test_a_free_method_is_not_charged_and_keeps_its_price(ask_with_token, page, seen, api):
    page()
    free, charged = (ask_with_token("/premium/a", x_forwarded_method=method) for method in ("HEAD", "GET"))
    assert ("crawler-charged" in free.headers, charged.headers["crawler-charged"]) == (False, "USD 0.25")
    assert LedgerEntry.objects.filter(type="usage").count() == 1
    [of_free, of_charged] = [answer.facts for answer in seen.answers]
    assert of_free.licenses == of_charged.licenses
    assert (of_free.waived, of_charged.waived) == (True, False)
    free = ask_with_token("/premium/a", x_forwarded_method="HEAD").headers["X-Access-Id"]
    assert api.delete("/v1/requesters/org_acme").status == 200
    assert api.get(f"/v1/access/decisions/{free}")["charge"] is None


def test_a_free_method_spends_nothing_of_a_quota(ask_with_token, account, page):
    factories.wallet(account, "access", 1, requester_id="org_acme")
    page()
    methods = ["HEAD", "HEAD", "OPTIONS", "GET", "HEAD"]
    assert [ask_with_token("/premium/a", x_forwarded_method=method).status for method in methods] == [
        200, 200, 200, 402, 200,
    ]  # fmt: skip


def test_an_observed_page_says_that_a_quota_is_used_up_and_replays_so(ask_with_token, account, page, api, seen):
    factories.wallet(account, "access", 1, requester_id="org_acme")
    page()
    assert ask_with_token("/premium/a").status == 200
    update_site(Site.objects.get(), {"mode": "observe"})
    observed = ask_with_token("/premium/a")
    assert (observed.status, observed.headers["X-Access-Would"]) == (200, "deny; reason=quota_exceeded")
    facts = replace(seen.answers[-1].facts, shortfall=Shortfall("access", 0))
    assert recorded_and_replayed(observed.headers["X-Access-Id"]) == (facts,) * 2
    assert [one["reason"] for one in api.get("/v1/analytics/observed")["byReason"]] == ["quota_exceeded"]


def test_a_visitor_is_decided_by_the_metadata_of_its_requester(ask, ask_with_token, api, site, seen):
    site({"action": "allow", "conditions": {"attributes": {"country": "DE"}}, "permissions": ["read"]})
    api.patch("/v1/requesters/org_acme", {"metadata": {"country": "DE"}})
    known = ask_with_token("/premium/a")
    assert (known.headers["X-Access-Decision"], ask("/premium/a").headers["X-Access-Decision"]) == ("allow", "deny")
    assert recorded_and_replayed(known.headers["X-Access-Id"]) == (seen.answers[0].facts,) * 2
    assert seen.answers[0].facts.attributes == {"country": "DE"}
    api.patch("/v1/requesters/org_acme", {"metadata": {"country": "FR"}})
    assert ask_with_token("/premium/a").headers["X-Access-Decision"] == "deny"
