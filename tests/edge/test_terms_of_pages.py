import pytest

from licensing.edge.crawlers import Crawler, Table
from licensing.edge.current_crawlers import current_table
from tests import factories
from tests.edge.asking import LICENSED, READERS
from tests.edge.documents import SEARCH_ONLY
from tests.edge.priced_rules import AI_AT_A_PRICE

TERMS = ("Content-Usage", "tdm-reservation", "tdm-policy")
LINK = '<https://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'


@pytest.fixture
def listed(monkeypatch):
    """A known crawler that trains models, at the address of the tests' visitors."""
    crawler = Crawler("TestBot", "ai_training", "T", "TestBot", addresses=("203.0.113.0/24",))
    table = Table(current_table.get().date, (crawler,))
    monkeypatch.setattr(type(current_table), "get", lambda self: table)


def terms_of(reply):
    assert (reply.status, reply.headers["Link"]) == (200, LINK)
    return [reply.headers.get(name) for name in TERMS]


def test_a_page_has_the_terms_of_its_policy(ask, site):
    site(factories.ALLOW_ALL)
    assert terms_of(ask("/premium/a")) == ["train-ai=y, ai-use=y, search=y", "0", None]
    site(SEARCH_ONLY)
    assert terms_of(ask("/premium/a")) == ["train-ai=n, ai-use=n, search=y", "1", None]
    envoy = ask("/premium/a", path="/v1/access/envoy/premium/a", host="pub.example")
    assert envoy.headers["Content-Usage"] == "train-ai=n, ai-use=n, search=y"
    site(AI_AT_A_PRICE, {**SEARCH_ONLY, "conditions": {"default": True}})
    assert terms_of(ask("/premium/a"))[1:] == ["1", "https://pub.example/.well-known/tdm-policy.json"]
    site(factories.ALLOW_ALL, unknown="allow")
    assert terms_of(ask("/robots.txt")) == terms_of(ask("/unknown")) == [None, None, None]


def test_a_crawler_that_paid_or_has_a_licence_is_not_told_that_its_use_is_refused(ask, site, account, listed):
    by_crawler = {"user_agent": "TestBot/1.0"}
    everybody_reads = {**READERS, "priority": 3}
    site(LICENSED, AI_AT_A_PRICE, everybody_reads, unknown="allow")
    assert ask("/premium/a", **by_crawler).status == 402
    paid = ask("/premium/a", crawler_max_price="USD 1", **by_crawler)
    assert terms_of(paid) == ["train-ai=y, ai-use=n, search=n", None, None]
    assert paid.headers["X-Access-Cache"] == "private"
    people = ask("/premium/a")
    policy = "https://pub.example/.well-known/tdm-policy.json"
    assert terms_of(people) == ["train-ai=n, ai-use=n, search=n", "1", policy]
    assert "X-Access-Cache" not in people.headers
    factories.license(account, requester_id="crawler:testbot")
    licensed = ask("/premium/b", **by_crawler)
    assert terms_of(licensed) == ["train-ai=y, ai-use=n, search=n", None, None]
    assert licensed.headers["X-Access-Cache"] == "private"  # a shared cache would tell it to others


def test_observed_denials_have_the_terms_for_everybody(ask, site, listed):
    site(LICENSED, AI_AT_A_PRICE, mode="observe")
    assert terms_of(ask("/premium/a", user_agent="TestBot/1.0"))[:2] == ["train-ai=n, ai-use=n, search=n", "1"]


def test_a_changed_policy_changes_the_terms_of_the_next_answer(ask, site, api_of, account):
    site(factories.ALLOW_ALL, mode="observe")
    assert terms_of(ask("/premium/a"))[1] == "0"
    [policy] = api_of(account).get("/v1/policies")["data"]
    api_of(account).patch(f"/v1/policies/{policy['id']}", {"rules": [LICENSED]})
    assert terms_of(ask("/premium/a"))[1] == "1"
