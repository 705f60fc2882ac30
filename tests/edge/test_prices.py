from decimal import Decimal

import pytest

from analytics.models import AccessEvent, LedgerEntry
from analytics.wallets.services import create_wallet
from licensing.edge.crawlers import Crawler, Table
from licensing.edge.current_crawlers import current_table
from licensing.policies.services import update_policy
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told
from tests.edge.priced_rules import FOR_ALL, FOR_SALE, PRICED, price_of
from tests.edge.tokens import ask_token


@pytest.fixture
def pay(ask, account):
    """Return a function that requests a page with an API key of the account."""
    _, text = factories.api_key(account)
    return lambda uri="/premium/a", **headers: ask(uri, authorization=f"Bearer {text}", **headers)


def test_a_denial_that_a_payment_would_help_names_the_price_to_customers_too(ask, site, pay, account):
    site(PRICED, factories.DENY_ALL)
    reply = ask("/premium/a")
    assert told(reply) == (402, "deny", "no_license")
    assert price_of(reply) == (402, "USD 0.015", "MissingCrawlerPrice")
    site(PRICED, READERS)
    reply = ask("/premium/a", user_agent="GPTBot/1.0")
    assert told(reply) == (402, "deny", "permission_not_granted")
    assert price_of(reply) == (402, "USD 0.015", "MissingCrawlerPrice")
    assert "This has to be paid for." in str(reply.body)
    site(FOR_ALL)
    assert price_of(ask("/premium/a")) == (402, "EUR 0.50", "MissingCrawlerPrice")
    assert pay(crawler_exact_price="EUR 0.50").headers["crawler-charged"] == "EUR 0.50"
    site(PRICED)
    factories.license(account, license_type="personal")
    token = ask_token(*factories.license_client(account)).json()["access_token"]
    reply = ask("/premium/a", authorization=f"License {token}")
    assert told(reply) == (402, "deny", "policy_denied")
    assert price_of(reply) == (402, "USD 0.015", "MissingCrawlerPrice")


@pytest.mark.parametrize(
    "sent", [{"crawler_exact_price": "USD 0.015"}, {"crawler_max_price": "USD 0.015"}, {"crawler_max_price": "USD 2"}]
)
def test_a_visitor_who_pays_the_price_is_let_in_and_charged(pay, site, api, sent):
    site(PRICED, factories.DENY_ALL)
    reply = pay(**sent)
    assert told(reply) == (200, "allow", None)
    assert reply.headers["crawler-charged"] == "USD 0.015"
    [entry] = LedgerEntry.objects.all()
    assert (str(entry.amount), entry.currency, entry.license_id) == ("0.015000", "USD", None)
    assert (entry.license_type, entry.decision_id) == ("commercial", reply.headers["X-Access-Id"])
    decision = api.get(f"/v1/access/decisions/{entry.decision_id}")
    assert decision["license"] == {"id": None, "licenseType": "commercial", "expiresAt": None, "source": "offer"}
    assert decision["charge"] == {"amount": 0.015, "currency": "USD", "refunded": 0, "refundable": 0.015}
    assert decision["allowed"] is True


def test_only_the_exact_price_in_one_header_is_accepted(pay, site, ask):
    for sent, error in [
        ({"crawler_exact_price": "USD 0.02"}, "InvalidCrawlerExactPrice"),
        ({"crawler_max_price": "USD 0.01"}, "InvalidCrawlerMaxPrice"),
        ({"crawler_max_price": "EUR 9"}, "InvalidCrawlerMaxPrice"),
    ]:
        site(PRICED, factories.DENY_ALL)
        assert price_of(pay(**sent)) == (402, "USD 0.015", error)
        assert not LedgerEntry.objects.exists()
    for value in ["0.01", "USD", "USD -1", "USD 1e3", "usd 0.01", "USD 0.0000001", "XXX 1", "USD 1,5"]:
        site(PRICED, factories.DENY_ALL)
        assert price_of(pay(crawler_max_price=value)) == (400, None, "InvalidCrawlerPriceValue")
    site(PRICED)
    reply = pay(crawler_max_price="USD 1", crawler_exact_price="USD 1")
    assert price_of(reply) == (400, None, "ConflictingPriceHeaders")
    for agent in ["Mozilla/5.0", "GPTBot/1.0"]:
        site(PRICED, factories.DENY_ALL)
        reply = ask("/premium/a", crawler_max_price="USD 1", user_agent=agent)
        assert price_of(reply) == (400, None, "StrongAuthRequired")
        recorded = AccessEvent.objects.latest("pk")
        assert recorded.reason == "no_license"  # decided as without a payment
        assert reply.headers["X-Access-Id"] == recorded.pk
        assert not LedgerEntry.objects.exists()
    reply = ask("/premium/a", path="/v1/access/forward?deny=403")
    assert (reply.status, reply.headers["X-Access-Status"], reply.headers["crawler-price"]) == (
        403,
        "402",
        "USD 0.015",
    )


def test_a_price_is_ignored_where_only_another_use_is_for_sale(ask, site, pay):
    for rules, status in (([LICENSED, FOR_SALE], 402), ([READERS, FOR_SALE], 200)):
        site(*rules)
        for reply in (ask("/premium/a", crawler_max_price="USD 0.05", user_agent="Mozilla/5.0"),
                      pay(crawler_max_price="USD 0.05")):  # fmt: skip
            assert price_of(reply) == (status, None, None)
            assert "crawler-charged" not in reply.headers


def test_a_verified_crawler_pays(ask, site, monkeypatch):
    table = Table(
        current_table.get().date, (Crawler("TestBot", "ai_training", "T", "TestBot", addresses=("203.0.113.0/24",)),)
    )
    monkeypatch.setattr(type(current_table), "get", lambda self: table)
    site(PRICED, factories.DENY_ALL)
    reply = ask("/premium/a", crawler_max_price="USD 1", user_agent="TestBot/1.0")
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "crawler:testbot")


def test_a_licence_goes_before_an_offer(ask, site, account):
    site(PRICED, factories.DENY_ALL)
    factories.license(account)
    token = ask_token(*factories.license_client(account)).json()["access_token"]
    reply = ask("/premium/a", authorization=f"License {token}", crawler_max_price="USD 1")
    assert (reply.status, reply.headers.get("crawler-charged")) == (200, None)
    assert not LedgerEntry.objects.exists()


def test_a_denial_for_lack_of_credit_names_the_price_and_credit_that_comes_within_a_day(ask, site, account):
    site(LICENSED)
    own, text = factories.api_key(account)
    factories.license(account, own.pk, per_access="0.05")
    factories.wallet(account, "USD", "0.07", requester_id=own.pk)
    refill = {"amount": Decimal(1), "every": "day"}
    create_wallet(account.pk, {"requester_id": own.pk, "unit": "access", "refill": refill})
    first, exhausted = (ask("/premium/a", authorization=f"Bearer {text}") for _ in range(2))
    assert (first.status, exhausted.status, exhausted.headers["X-Access-Reason"]) == (200, 402, "quota_exceeded")
    assert first.headers["crawler-charged"] == "USD 0.05"
    assert 86_300 < int(exhausted.headers["Retry-After"]) <= 86_400
    assert exhausted.headers["crawler-price"] == "USD 0.05"
    assert "crawler-error" not in exhausted.headers
    assert ask("/premium/a", authorization=f"Bearer {text}", crawler_max_price="USD 1").status == 402
    own, text = factories.api_key(account)
    factories.license(account, own.pk)
    refill = {"amount": Decimal(1), "every": "week"}
    create_wallet(account.pk, {"requester_id": own.pk, "unit": "access", "refill": refill})
    _, exhausted = (ask("/premium/a", authorization=f"Bearer {text}") for _ in range(2))
    assert exhausted.headers["X-Access-Reason"] == "quota_exceeded"
    assert "Retry-After" not in exhausted.headers


def test_a_head_request_is_allowed_at_the_price_and_never_charged(pay, site):
    for price, would in [("USD 1", None), ("USD 0.01", "deny; reason=no_license")]:
        site(PRICED, factories.DENY_ALL, mode="observe")
        reply = pay(crawler_max_price=price)
        assert (reply.status, reply.headers.get("X-Access-Would"), event(reply).observed) == (
            200,
            would,
            would and "no_license",
        )
        assert "crawler-charged" not in reply.headers
        assert not LedgerEntry.objects.exists()
    site(PRICED, factories.DENY_ALL)
    reply = pay(crawler_max_price="USD 1", x_forwarded_method="HEAD")
    assert (reply.status, reply.headers.get("crawler-charged")) == (200, None)
    assert price_of(pay(x_forwarded_method="HEAD")) == (402, "USD 0.015", "MissingCrawlerPrice")
    assert not LedgerEntry.objects.exists()
    asked = {"path": "/v1/access/ingress-nginx", "x_original_url": "https://pub.example/premium/a"}
    assert pay(crawler_max_price="USD 1", x_forwarded_method="HEAD", x_original_method="GET", **asked).status == 200
    assert LedgerEntry.objects.exists()


def test_a_changed_price_holds_in_the_next_request(pay, site):
    policy = site(PRICED).ordered_rules[0].policy
    assert pay(crawler_exact_price="USD 0.015").status == 200
    update_policy(policy, {"rules": [{**PRICED, "pricePerAccess": {"amount": 1, "currency": "USD"}}]})
    assert price_of(pay(crawler_exact_price="USD 0.015")) == (402, "USD 1.00", "InvalidCrawlerExactPrice")


OFFER = {"licenseType": "commercial", "permissions": ["full_access"],
         "pricePerAccess": {"amount": 0.015, "currency": "USD"}}  # fmt: skip


def test_offers_heed_the_licences_and_wallets_of_the_requester(api, account):
    item = factories.content(account, policy_id=factories.policy(account, PRICED).pk)
    factories.license(account, per_access="0.05")
    own = api.get("/v1/access/offers", contentId=item.pk, requesterId="org_acme")
    assert (own["allowed"], own["charge"], own["offers"]) == (True, {"amount": 0.05, "currency": "USD"}, [])
    assert api.get("/v1/access/offers", contentId=item.pk, requesterId="org_other")["offers"] == [OFFER]
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_LICENSED, PRICED).pk)
    wallet = factories.wallet(account, "USD", "0.07", requester_id="org_acme")["wallet"]
    query = {"contentId": item.pk, "requesterId": "org_acme"}
    before = api.get("/v1/access/offers", **query)
    assert (before["allowed"], before["credits"]) == (True, {"walletId": wallet, "unit": "USD", "remaining": 0.02})
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    batch = api.post("/v1/access/offers/batch", {"items": [{"contentId": item.pk}] * 2, "requesterId": "org_acme"})
    for one in (api.get("/v1/access/offers", **query).body, *batch["data"]):
        assert (one["allowed"], one["reason"], one["offers"]) == (False, "credits_exhausted", [])
        assert (one["credits"]["required"], one["credits"]["available"]) == (0.05, 0.02)


def test_offers_are_for_a_permission_of_a_known_page(api, account, site):
    for query, status, param in [
        ({}, 400, "url"),
        ({"url": "https://a.example/", "contentId": "cnt_x"}, 400, "contentId"),
        ({"url": "a"}, 400, "url"),
        ({"contentId": "cnt_x", "permission": "No"}, 400, "permission"),
        ({"url": "https://unknown.example/a"}, 404, "url"),
        ({"contentId": "cnt_x"}, 404, "contentId"),
    ]:
        reply = api.get("/v1/access/offers", **query)
        assert reply.status_and_param == (status, param)
    policy = factories.policy(account, {**PRICED, "permissions": ["read"]})
    item = factories.content(account, policy_id=policy.pk)
    assert api.get("/v1/access/offers", contentId=item.pk, permission="ai_training")["offers"] == []
    assert len(api.get("/v1/access/offers", contentId=item.pk, permission="read")["offers"]) == 1
    made = site(PRICED, factories.DENY_ALL)
    reply = api.get("/v1/access/offers", url="https://pub.example/premium/a?x=1")
    assert (reply["allowed"], reply["reason"], reply["offers"]) == (False, "no_license", [OFFER])
    assert reply["policyId"] == made.ordered_rules[0].policy_id
    assert api.get("/v1/access/decisions")["totalCount"] == 0


def test_a_batch_answers_in_the_order_of_its_items(api, account, site):
    site(PRICED)
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    items = [{"contentId": item.pk}, {"url": "https://pub.example/premium/a"}, {"contentId": "cnt_nope"}]
    data = api.post("/v1/access/offers/batch", {"items": items, "permission": "read"})["data"]
    assert [one.get("allowed") for one in data] == [True, False, None]
    assert (data[1]["offers"], data[2]["error"]["code"]) == ([OFFER], "resource_not_found")
    assert api.post("/v1/access/offers/batch", {"items": [{}]}).status_and_param == (422, "items[0].url")


def test_prices_of_rules_are_validated_and_kept(api):
    for price, param in [
        (1, "pricePerAccess"),
        ({"amount": 1}, "pricePerAccess.currency"),
        ({"amount": 0, "currency": "USD"}, "pricePerAccess.amount"),
        ({"amount": "1.1234567", "currency": "USD"}, "pricePerAccess.amount"),
        ({"amount": True, "currency": "USD"}, "pricePerAccess.amount"),
        ({"amount": 1_000_001, "currency": "USD"}, "pricePerAccess.amount"),
        ({"amount": 1, "currency": "usd"}, "pricePerAccess.currency"),
        ({"amount": 1, "currency": "USD", "x": 1}, "pricePerAccess.x"),
    ]:
        rule = {"action": "allow", "conditions": {"default": True}, "pricePerAccess": price}
        assert api.post("/v1/policies", {"name": "P", "rules": [rule]}).status_and_param == (422, f"rules[0].{param}")
    rule = {**FOR_ALL, "action": "deny"}
    del rule["permissions"]
    assert api.post("/v1/policies", {"name": "P", "rules": [rule]}).error["param"] == "rules[0].pricePerAccess"
    for amount in (0.5, "0.50", 3):
        rule = {**FOR_ALL, "pricePerAccess": {"amount": amount, "currency": "EUR"}}
        assert api.post("/v1/policies", {"name": "P", "rules": [rule]})["rules"] == [rule]
