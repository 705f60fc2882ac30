import pytest

from analytics.models import LedgerEntry
from tests import factories
from tests.edge.priced_rules import FOR_ALL, NATURAL, PRICED, price_of


@pytest.fixture
def test_bot(crawler_table):
    crawler_table(
        {"name": "TestBot", "class": "ai_training", "operator": "T", "userAgent": "TestBot",
         "addresses": ["203.0.113.0/24"]}
    )  # fmt: skip


def test_a_price_is_found_behind_a_rule_for_licensees(ask, site, test_bot, api, account):
    site(*NATURAL)
    assert price_of(ask("/premium/a", user_agent="TestBot/1.0")) == (402, "USD 0.015", "MissingCrawlerPrice")
    unverified = ask("/premium/a", user_agent="TestBot/1.0", x_forwarded_for="198.51.100.1")
    assert price_of(unverified) == (402, "USD 0.015", "MissingCrawlerPrice")
    assert price_of(ask("/premium/a")) == (402, None, None)  # a person needs a licence
    reply = ask("/premium/a", user_agent="TestBot/1.0", crawler_max_price="USD 1", x_forwarded_method="HEAD")
    assert (reply.status, reply.headers.get("crawler-charged"), price_of(reply)[2]) == (200, None, None)
    url = "https://pub.example/premium/a"
    offers = api.get("/v1/access/offers", url=url, permission="ai_input")["offers"]
    assert [(one["licenseType"], one["pricePerAccess"]["amount"]) for one in offers] == [(None, 0.015)]
    assert api.get("/v1/access/offers", url=url, permission="read")["offers"] == []
    factories.license(account, "crawler:testbot")
    reply = ask("/premium/a", user_agent="TestBot/1.0", crawler_max_price="USD 1")
    assert (reply.status, reply.headers.get("crawler-charged")) == (200, None)


@pytest.mark.parametrize("sent", [{"crawler_exact_price": "USD 0.015"}, {"crawler_max_price": "USD 0.02"}])
def test_a_price_behind_a_rule_for_licensees_is_paid(ask, site, api, test_bot, sent):
    site(*NATURAL)
    reply = ask("/premium/a", user_agent="TestBot/1.0", **sent)
    assert (reply.status, reply.headers.get("crawler-charged")) == (200, "USD 0.015")
    [entry] = LedgerEntry.objects.all()
    assert (str(entry.amount), entry.currency) == ("0.015000", "USD")
    explained = api.get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}")
    assert [(step["matched"], step["decisive"]) for step in explained["trace"]] == [
        (False, False), (True, True), (True, False),
    ]  # fmt: skip


def test_rules_before_a_price_block_it_unless_they_are_for_licence_holders(ask, site, account):
    for before, quoted in [
        ({"action": "allow", "conditions": {"licenseType": "commercial"}, "permissions": ["read"]}, True),
        ({"action": "deny", "conditions": {"hasValidLicense": False}}, True),
        ({"action": "deny", "conditions": {"licenseType": "commercial"}}, False),
        ({"action": "deny", "conditions": {"default": True}}, False),
        ({"action": "allow", "conditions": {"default": True}, "permissions": ["search"]}, False),
    ]:
        site({**before, "priority": 1}, PRICED, {**factories.DENY_ALL, "priority": 3})
        assert (ask("/premium/a").headers.get("crawler-price") == "USD 0.015") is quoted
    site({**FOR_ALL, "conditions": {"hasValidLicense": False}})
    assert price_of(ask("/premium/a")) == (402, "EUR 0.50", "MissingCrawlerPrice")
    reply = ask("/premium/a", authorization=f"Bearer {factories.api_key(account)[1]}", crawler_exact_price="EUR 0.50")
    assert reply.headers["crawler-charged"] == "EUR 0.50"
