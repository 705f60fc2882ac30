from tests import factories
from tests.edge.asking import LICENSED
from tests.edge.documents import SEARCH_ONLY
from tests.edge.priced_rules import AI_AT_A_PRICE

TERMS = ("Content-Usage", "tdm-reservation", "tdm-policy")
LINK = '<https://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'


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


def test_a_changed_policy_changes_the_terms_of_the_next_answer(ask, site, api_of, account):
    site(factories.ALLOW_ALL, mode="observe")
    assert terms_of(ask("/premium/a"))[1] == "0"
    [policy] = api_of(account).get("/v1/policies")["data"]
    api_of(account).patch(f"/v1/policies/{policy['id']}", {"rules": [LICENSED]})
    assert terms_of(ask("/premium/a"))[1] == "1"
