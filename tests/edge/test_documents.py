"""The terms that crawlers are told: never laxer than what is enforced."""

from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from licensing.access.lookup import compiled_policies
from licensing.edge.promises import USES, Terms, promised, terms_of
from licensing.policies.decision import CompiledPolicy, judge
from licensing.policies.facts import Facts
from licensing.policies.rules import parse_rules
from licensing.policies.services import update_policy
from licensing.sites.patterns import compiled, most_specific, normalize_path
from tests import factories
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

CONDITIONS = st.one_of(
    st.just({"default": True}),
    st.fixed_dictionaries(
        {},
        optional={
            "permission": st.lists(st.sampled_from(["read", *USES]), min_size=1, max_size=3, unique=True),
            "hasValidLicense": st.booleans(),
            "licenseType": st.sampled_from(["commercial", "press"]),
            "ip": st.just("203.0.113.0/24"),
            "requesterId": st.just("anonymous"),
            "after": st.just("2026-01-01"),
        },
    ).filter(bool),
)
RULES = st.lists(
    st.builds(
        lambda action, conditions, permissions, limit, priority: {
            "action": action,
            "conditions": conditions,
            **({"permissions": permissions} if action == "allow" else {}),
            **({"rateLimit": {"requests": 1, "period": "day"}} if action == "allow" and limit else {}),
            **({} if priority is None else {"priority": priority}),
        },
        st.sampled_from(["allow", "allow", "deny"]),
        CONDITIONS,
        st.lists(st.sampled_from(["full_access", "read", *USES]), min_size=1, max_size=3, unique=True),
        st.sampled_from([False, False, True]),
        st.one_of(st.none(), st.integers(0, 3)),
    ),
    max_size=4,
)
POLICIES = st.one_of(
    st.none(),
    st.builds(lambda rules, default: CompiledPolicy.of("pol_x", 1, default, parse_rules(rules)), RULES,
              st.sampled_from(["allow", "deny"])),
)  # fmt: skip
PATTERNS = st.sampled_from(
    ["/", "/*", "/a", "/a$", "/a/*", "/a/b$", "/*b", "/*.pdf$", "/%C3%A9/*", "/a*b", "/ab", "/a/bc*"]
)
PATHS = st.sampled_from(
    ["/", "/a", "/a/", "/a/b", "/a/b/c", "/b", "/ab", "/a.pdf", "/a/b.pdf", "/%C3%A9/x", "/a/bcd", "/abb"]
)
SEEKERS = st.builds(
    lambda requester, valid, ip, month: {"requester_id": requester, "has_valid_license": valid, "ip": ip,
                                         "license_types": ("commercial",) if valid else (), "month": month},
    st.sampled_from(["anonymous", "crawler:gptbot"]), st.booleans(), st.none(), st.integers(1, 12),
)  # fmt: skip


def told_of(terms: list[Terms], url: str) -> set[str]:
    """What a reader takes from a document: the most specific pattern that matches, of equals the most lenient."""
    matching = [one for one in terms if matches(one.url, url)]
    longest = max((len(one.url) for one in matching), default=0)
    return set().union(*(one.uses for one in matching if len(one.url) == longest))


def matches(pattern: str, url: str) -> bool:
    """As RFC 9309 has it, the query being part of what is matched."""
    text, anchored = pattern.removesuffix("$"), pattern.endswith("$")
    first, *others = text.split("*")
    if not url.startswith(first):
        return False
    at = len(first)
    for place, part in enumerate(others):
        if anchored and place == len(others) - 1:
            return len(url) - len(part) >= at and url.endswith(part)
        found = url.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not anchored or at == len(url)


class Ruled:
    def __init__(self, pattern, policy):
        self.pattern, self.policy = pattern, policy


@given(
    st.lists(st.tuples(PATTERNS, POLICIES), max_size=5, unique_by=lambda pair: compiled(pair[0])),
    st.lists(POLICIES, max_size=2), PATHS, st.sampled_from(["", "?x=1", "?"]), SEEKERS,
)  # fmt: skip
@settings(max_examples=examples(400), deadline=None, suppress_health_check=list(HealthCheck))
def test_what_a_document_permits_the_service_allows(rules, items, path, query, seeker):
    terms = terms_of(rules, items)
    rule = most_specific([Ruled(*pair) for pair in rules], normalize_path(path))
    seeker = dict(seeker)
    now = moment(seeker.pop("month"))
    for use in told_of(terms, path + query):
        for policy in [rule.policy if rule else None, *items]:
            for permission in (use, "read"):
                decision = judge(policy, Facts(now=now, permission=permission, **seeker))
                assert decision.allowed
                assert decision.rule.rate_limit is None


def moment(month):

    return datetime(2025, month, 1, tzinfo=UTC)


def test_a_policy_that_opens_everything_promises_every_use(account):
    policy = factories.policy(account, factories.ALLOW_ALL)
    assert promised(compiled_policies.get([(policy.pk, 1)])[policy.pk, 1]) == set(USES)
