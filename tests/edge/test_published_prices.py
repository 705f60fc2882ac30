from xml.etree import ElementTree

import jwt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.values.decimals import from_millionths, plain
from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.promises import prices_of
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.terms import terms_of
from licensing.policies.decision import judge
from licensing.policies.facts import Facts
from licensing.policies.offers import find_offers
from licensing.sites.patterns import compile_pattern
from tests import factories
from tests.edge.documents import RSL, SEARCH_ONLY, get, moment, replace_site
from tests.edge.priced_rules import FOR_SALE, LICENSEES, NATURAL
from tests.edge.published import ITEMS, PATHS, PATTERNS, POLICIES, QUERIES, SEEKERS, policies_at, read_prices
from tests.edge.tokens import ask_token
from tests.examples import examples

PRICED = (
    b'<license><permits type="usage">ai-index ai-input ai-train</permits>'
    b'<payment type="crawl"><amount currency="USD">0.015</amount></payment></license>'
)


PRICED_POLICIES = st.one_of(POLICIES.filter(prices_of), POLICIES)


def sell(account, *rules, **others):
    policy = factories.policy(account, *rules)
    others = {pattern: factories.policy(account, *of_other) for pattern, of_other in others.items()}
    return replace_site(account, {"/premium/*": policy, **others})


def test_a_price_for_everybody_without_a_licence_is_published(account):
    sell(account, *NATURAL)
    assert PRICED in get(RSL).content
    assert b"<prohibits" not in get(RSL).content
    [permission] = get("/.well-known/tdm-policy.json").json()["permission"]
    [duty] = permission["duty"]
    assert duty["action"] == [
        {
            "rdf:value": {"@id": "odrl:compensate"},
            "refinement": [
                {
                    "leftOperand": "payAmount",
                    "operator": "eq",
                    "rightOperand": {"@value": "0.015", "@type": "xsd:decimal"},
                    "unit": "http://cvx.iptc.org/iso4217a/USD",
                }
            ],
        }
    ]


def test_free_uses_and_patterns_have_prices_of_their_own(account):
    sell(account, FOR_SALE, SEARCH_ONLY)
    assert b'<license><permits type="usage">search</permits></license>\n  ' + PRICED in get(RSL).content
    sell(account, FOR_SALE, **{"/archive/*": [factories.DENY_ALL], "/ab/*": [FOR_SALE]})
    assert get(RSL).content.count(b"<payment") == 2
    sell(account, FOR_SALE, **{"/premium*/": [factories.DENY_ALL]})
    assert get(RSL).content.count(b"<payment") == 1


def test_a_token_is_given_for_the_free_licence_and_for_the_one_for_sale(account):
    sell(account, LICENSEES, {**FOR_SALE, "priority": 2}, {**SEARCH_ONLY, "priority": 3})
    factories.license(account)
    client = factories.license_client(account)
    [content] = ElementTree.fromstring(get(RSL).content)  # noqa: S314 - our own
    licenses = [ElementTree.tostring(one, encoding="unicode") for one in content]
    replies = [ask_token(*client, license=one) for one in [*licenses, licenses[1].replace("0.015", "0.01")]]
    assert [reply.status_code for reply in replies] == [200, 200, 400]


def test_a_price_that_is_not_everybodys_is_not_published(account):
    for rules in [
        [{**FOR_SALE, "conditions": {"ip": "203.0.113.0/24"}}], [{**FOR_SALE, "conditions": {"after": "2026-01-01"}}],
        [{**FOR_SALE, "rateLimit": {"requests": 1, "period": "day"}}],
        [{"action": "deny", "conditions": {"requesterId": "crawler:gptbot"}}, FOR_SALE],
        [factories.DENY_ALL, FOR_SALE], [factories.ALLOW_ALL, FOR_SALE],
    ]:  # fmt: skip
        sell(account, *rules)
        assert b"<payment" not in get(RSL).content, rules


def test_an_item_with_another_price_has_it_published_and_leaves_its_patterns_alone(account):
    sell(account, FOR_SALE)
    policy = factories.policy(account, {**FOR_SALE, "pricePerAccess": {"amount": "0.02", "currency": "USD"}})
    factories.content(account, source="https://pub.example/premium/a", policy_id=policy.pk)
    quoted = [{price for _, price in read_prices(get(RSL).content, f"/premium/{page}")} for page in "ab"]
    assert quoted == [{"USD 0.02"}, {"USD 0.015"}]


def test_an_items_published_entry_is_a_resource_of_the_licence_server(account):
    sell(account, LICENSEES)
    policy = factories.policy(account, {**LICENSEES, "pricePerAccess": {"amount": "0.02", "currency": "USD"}})
    factories.content(account, source="https://pub.example/premium/a", policy_id=policy.pk)
    factories.license(account)
    client = factories.license_client(account)
    entries = {one.attrib["url"]: one for one in ElementTree.fromstring(get(RSL).content)}  # noqa: S314 - our own
    for url in ("https://pub.example/premium/a$", "https://pub.example/premium/a?*"):
        own = ElementTree.tostring(entries[url][0], encoding="unicode")
        token = ask_token(*client, license=own, resource=url).json()["access_token"]
        claims = jwt.decode(token, options={"verify_signature": False})
        assert claims["aud"] == ["https://pub.example/premium/a", "http://pub.example/premium/a"]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(PATTERNS, PRICED_POLICIES), min_size=1, max_size=4, unique_by=lambda pair: compile_pattern(pair[0])
    ),
    ITEMS, PATHS, QUERIES, SEEKERS,
)  # fmt: skip
@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
def test_published_prices_are_charged_for_an_access(rules, items, path, query, seeker):
    document = write_documents(Publication("pub.example", terms_of(rules, items), "Example Media")).get(RSL, b"<rsl/>")
    unlicensed = {"requester_id": seeker["requester_id"], "now": moment(seeker["month"]), "identified_by": "signature"}
    for use, price in read_prices(document, path + query):
        for decisive in policies_at(rules, items, path + query):
            facts = Facts(permission=use, **unlicensed)
            offer = next(find_offers(decisive, facts))
            assert not judge(decisive, facts).allowed
            assert f"{offer.price.currency} {plain(from_millionths(offer.price.amount))}" == price
            assert judge(decisive, offer.facts).rule.rate_limit is None
