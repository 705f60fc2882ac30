"""The terms that crawlers are told: never laxer than what is enforced."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.values.paths import normalize_path
from licensing.access.lookup import compiled_policies
from licensing.edge.documents import Publication, written
from licensing.edge.promises import USES, promised, terms_of
from licensing.policies.decision import judge
from licensing.policies.facts import Facts
from licensing.policies.services import update_policy
from licensing.sites.patterns import compiled, most_specific
from tests import factories
from tests.edge.published import ITEMS, PATHS, PATTERNS, POLICIES, READERS, SEEKERS
from tests.examples import examples

SEARCH_ONLY = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}
NAMESPACE = "{https://rslstandard.org/rsl}"
RSL, ROBOTS, TDMREP = "/license.xml", "/robots.txt", "/.well-known/tdmrep.json"


def get(path, host="pub.example", **headers):
    return Client().get(path, headers={"Host": host, **headers})


@pytest.fixture
def site(account):
    return factories.site(
        account,
        {"/open/*": factories.policy(account, SEARCH_ONLY), "/premium/*": factories.policy(account)},
        host="pub.example",
    )


def test_license_xml_tells_what_the_policies_promise_to_everybody(site):
    reply = get(RSL)
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/rsl+xml")
    root = ElementTree.fromstring(reply.content)  # noqa: S314 - our own
    assert root.tag == f"{NAMESPACE}rsl"
    told = {
        content.attrib["url"]: [(one.tag.removeprefix(NAMESPACE), one.attrib["type"], one.text) for one in content[0]]
        for content in root
    }
    assert told == {
        "https://pub.example/open/*": [("permits", "usage", "search")],
        "https://pub.example/premium/*": [("prohibits", "usage", "all")],
    }


def test_robots_txt_has_a_group_to_add(site):
    assert get(ROBOTS).content.decode().splitlines() == [
        "User-agent: *",
        "License: https://pub.example/license.xml",
        "Content-Signal: search=no, ai-input=no, ai-train=no",
        "Content-Usage: train-ai=n, ai-use=n, search=n",
        "Content-Usage: /premium/* train-ai=n, ai-use=n, search=n",
        "Content-Usage: /open/* train-ai=n, ai-use=n, search=y",
    ]


def test_what_is_said_of_the_whole_site_holds_for_pages_of_no_pattern_too(account):
    factories.site(account, {"/free/*": factories.policy(account, factories.ALLOW_ALL)}, host="pub.example")
    lines = get(ROBOTS).content.decode().splitlines()
    assert "Content-Signal: search=no, ai-input=no, ai-train=no" in lines
    assert "Content-Usage: train-ai=n, ai-use=n, search=n" in lines
    assert "Content-Usage: /free/* train-ai=y, ai-use=y, search=y" in lines


def test_tdmrep_reserves_what_is_not_promised(account):
    factories.site(account, {"/free/*": factories.policy(account, factories.ALLOW_ALL)}, host="pub.example")
    assert get(TDMREP).json() == [
        {"location": "/free/*", "tdm-reservation": 0},
        {"location": "/", "tdm-reservation": 1},
    ]


@pytest.mark.parametrize("path", [RSL, ROBOTS, TDMREP])
def test_a_document_is_kept_until_the_terms_change(site, path):
    first = get(path)
    assert get(path, **{"If-None-Match": first.headers["ETag"]}).status_code == 304
    update_policy(site.ordered_rules[0].policy, {"rules": [factories.ALLOW_ALL]})
    again = get(path, **{"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.headers["ETag"] != first.headers["ETag"]) == (200, True)


def test_an_item_that_is_refused_narrows_what_patterns_promise(account, site):
    factories.content(account, source="https://pub.example/open/a", policy_id=factories.policy(account).pk)
    assert b"<permits" not in get(RSL).content


@pytest.mark.parametrize("source", ["https://pub.example.org/a", "https://PUB.example/a", "https://u@pub.example/a"])
def test_an_item_counts_whatever_its_host_is_spelled_like(account, site, source):
    factories.content(account, source=source, policy_id=factories.policy(account).pk)
    assert b"<permits" not in get(RSL).content


def test_a_host_that_two_accounts_have_gets_documents_by_the_key_alone(account, other_account, site):
    factories.site(other_account, {"/*": factories.policy(other_account, factories.ALLOW_ALL)}, host="pub.example")
    assert get(RSL).status_code in (400, 404)
    own = get(RSL, **{"X-Licensing-Key": factories.key_text(account)})
    theirs = get(RSL, **{"X-Licensing-Key": factories.key_text(other_account)})
    assert b"/open/*" in own.content
    assert b"ai-train" in theirs.content


@pytest.mark.parametrize("path", [RSL, ROBOTS, TDMREP])
def test_a_host_without_a_site_has_no_documents(db, path):
    assert get(path, host="localhost").status_code == 404


# --- What is promised is allowed -------------------------------------------------------------------------------------


class Ruled:
    def __init__(self, pattern, policy):
        self.pattern, self.policy = pattern, policy


@given(
    st.lists(st.tuples(PATTERNS, POLICIES), max_size=5, unique_by=lambda pair: compiled(pair[0])),
    ITEMS, PATHS, st.sampled_from(["", "?x=1", "?"]), SEEKERS,
)  # fmt: skip
@settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_document_permits_the_service_allows(rules, items, path, query, seeker):
    documents = written(Publication("pub.example", terms_of(rules, items), "Example Media"))
    rule = most_specific([Ruled(*pair) for pair in rules], normalize_path(path))
    seeker = dict(seeker)
    now = moment(seeker.pop("month"))
    told = {
        use: read.__name__ for name, readers in READERS.items() for read in readers
        for use in read(documents[name], path + query)
    }  # fmt: skip
    for use, reader in told.items():
        for policy in [rule.policy if rule else None, *items]:
            for permission in (use, "read"):
                decision = judge(policy, Facts(now=now, permission=permission, **seeker))
                assert decision.allowed, reader
                assert decision.rule.rate_limit is None


def moment(month):
    return datetime(2025, month, 1, tzinfo=UTC)


@pytest.mark.parametrize("path", READERS)
def test_a_document_does_permit_what_everybody_may(account, path):
    factories.site(account, {"/*": factories.policy(account, factories.ALLOW_ALL)}, host="pub.example")
    for read in READERS[path]:
        uses = read(get(path).content, "/free/a?x")
        assert uses == ({"ai_input", "ai_training"} if path == TDMREP else set(USES))


def test_a_site_without_patterns_licenses_nothing_and_says_so(account):
    factories.site(account, host="pub.example")
    [content] = ElementTree.fromstring(get(RSL).content)  # noqa: S314 - our own
    assert (content.attrib["url"], content[0][0].text) == ("https://pub.example/", "all")


# --- What opens the rest ---------------------------------------------------------------------------------------------


def test_a_policy_in_odrl_says_what_opens_mining(account):
    price = {"amount": "0.01", "currency": "USD"}
    priced = {**factories.ALLOW_LICENSED, "pricePerAccess": price}
    factories.site(
        account,
        {
            "/freely/*": factories.policy(account, factories.ALLOW_ALL),
            "/held/*": factories.policy(account),
            "/paid/*": factories.policy(account, priced),
            "/never/*": factories.policy(account, factories.DENY_ALL),
        },
        host="pub.example",
    )
    policy = "https://pub.example/.well-known/tdm-policy.json"
    assert get(TDMREP).json() == [
        {"location": "/freely/*", "tdm-reservation": 0},
        {"location": "/never/*", "tdm-reservation": 1},
        {"location": "/held/*", "tdm-reservation": 1, "tdm-policy": policy},
        {"location": "/paid/*", "tdm-reservation": 1, "tdm-policy": policy},
        {"location": "/", "tdm-reservation": 1},
    ]
    told = get("/.well-known/tdm-policy.json").json()
    assert (told["@type"], told["profile"], told["uid"]) == ("Offer", "http://www.w3.org/ns/tdmrep", policy)
    assert told["assigner"]["vcard:fn"] == account.name
    assert told["permission"] == [
        {"target": "https://pub.example/held/*", "action": "tdm:mine", "duty": [{"action": "obtainConsent"}]},
        {
            "target": "https://pub.example/paid/*", "action": "tdm:mine",
            "duty": [{"action": "obtainConsent"}, {"action": "compensate"}],
        },
    ]  # fmt: skip


def test_there_is_no_such_policy_where_nothing_opens_mining(account):
    factories.site(account, {"/a/*": factories.policy(account, factories.DENY_ALL)}, host="pub.example")
    assert get("/.well-known/tdm-policy.json").status_code == 404


def test_a_policy_that_opens_everything_promises_every_use(account):
    policy = factories.policy(account, factories.ALLOW_ALL)
    assert promised(compiled_policies.get([(policy.pk, 1)])[policy.pk, 1]) == set(USES)
