from unittest.mock import patch
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from django.test import Client
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kit.telemetry.repeated_log import RepeatedLog
from kit.values.same_page_setting import SamePage
from licensing.access.lookup.pages import compiled_policies
from licensing.edge import middleware
from licensing.edge.publishing import overlaps, robots_txt, terms
from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.promises import USES, promised_uses
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.terms import terms_of
from licensing.edge.site_lint import lint_site
from licensing.policies.decision import judge
from licensing.policies.facts import Facts
from licensing.policies.services import update_policy
from licensing.sites.patterns import compile_pattern
from tests import factories
from tests.edge.documents import ROBOTS, RSL, SEARCH_ONLY, TDMREP, get, moment, replace_site
from tests.edge.published import ITEMS, PATHS, PATTERNS, POLICIES, QUERIES, READERS, SEEKERS, policies_at, read_rsl
from tests.examples import examples

NAMESPACE = "{https://rslstandard.org/rsl}"


@pytest.fixture
def site(account):
    return factories.site(
        account,
        {"/open/*": factories.policy(account, SEARCH_ONLY), "/premium/*": factories.policy(account)},
        host="pub.example",
    )


def test_license_xml_and_robots_txt_state_the_uses_promised_to_everybody(site):
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
    assert get(ROBOTS).content.decode().partition("\n\n")[0].splitlines() == [
        "User-agent: *",
        "License: https://pub.example/license.xml",
        "Content-Usage: /premium/* train-ai=n, ai-use=n, search=n",
        "Content-Usage: /open/* train-ai=n, ai-use=n, search=y",
        "Disallow:",
    ]
    assert get(RSL, **{"If-None-Match": "nope"}).status_code == 400
    assert get(RSL, **{"If-None-Match": ""}).status_code == 200


def test_groups_that_crawlers_would_not_read_whole_state_fewer_uses(site, monkeypatch):
    def groups():
        everyone, *some = get(ROBOTS).content.decode().strip().split("\n\n")
        return everyone, ["Content-Usage: /" in group for group in some], sum("Disallow: /" in group for group in some)

    everyone, state_uses, closed = groups()
    assert all(state_uses)
    monkeypatch.setattr(robots_txt, "MUST_READ", len(get(ROBOTS).content) - 1)
    assert groups() == (everyone, [False] * len(state_uses), closed)


def statements(account, *rules, **options):
    """Return the robots.txt rules for the whole host."""
    replace_site(
        account, {pattern: factories.policy(account, *of_pattern) for pattern, of_pattern in rules}, **options
    )
    group = get(ROBOTS).content.decode().partition("\n\n")[0]
    first, second, *stated, last = [line for line in group.splitlines() if ": /" not in line]
    assert (first, second.partition(":")[0], last) == ("User-agent: *", "License", "Disallow:")
    return stated


def test_documents_state_the_terms_that_hold_for_the_whole_host(account):
    assert statements(account, ("/free/*", [factories.ALLOW_ALL])) == []
    assert statements(account, ("/*", [SEARCH_ONLY])) == [
        "Content-Signal: search=yes, ai-input=no, ai-train=no",
        "Content-Usage: train-ai=n, ai-use=n, search=y",
    ]
    assert statements(account, ("/*", [SEARCH_ONLY]), ("/private/*", [factories.DENY_ALL])) == [
        "Content-Signal: ai-input=no, ai-train=no",
        "Content-Usage: train-ai=n, ai-use=n",
    ]
    assert statements(account, ("/private/*", [factories.DENY_ALL]), unknown="deny") == [
        "Content-Signal: search=no, ai-input=no, ai-train=no",
        "Content-Usage: train-ai=n, ai-use=n, search=n",
    ]
    replace_site(account, {"/free/*": factories.policy(account, factories.ALLOW_ALL)})
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
    other = Client().post(path, headers={"Host": "pub.example"})
    assert (other.status_code, other.headers["Allow"]) == (405, "GET, HEAD")


def uses_of(account, *targets):
    document = get(RSL).content
    return [sorted(read_rsl(document, target)) for target in targets]


def test_items_have_entries_unless_they_have_the_terms_of_their_pattern_or_another_host(account, site):
    before = get(RSL).content
    policy = site.ordered_rules[0].policy
    factories.content(account, source="https://pub.example/open/a", policy_id=policy.pk)
    assert get(RSL).content == before
    factories.content(account, source="https://pub.example.org/open/a", policy_id=factories.policy(account).pk)
    assert get(RSL).content == before
    before = get(RSL).content
    factories.content(account, source="https://pub.example/open/a", policy_id=factories.policy(account).pk)
    after = get(RSL).content
    assert set(before.splitlines()) - set(after.splitlines()) == set()
    assert uses_of(account, "/open/a", "/open/a?x=1", "/open/ab", "/open/") == [[], [], ["search"], ["search"]]
    policy = factories.policy(account, factories.ALLOW_ALL)
    factories.content(account, source="https://pub.example/news/a", policy_id=policy.pk)
    assert uses_of(account, "/news/a", "/news/b") == [sorted(USES), []]
    factories.content(account, source="https://pub.example/open/a", policy_id=policy.pk, status="archived")
    assert uses_of(account, "/open/a", "/open/b") == [[], ["search"]]


def test_an_item_counts_however_its_url_is_spelled_and_at_the_pages_that_same_page_makes_one(account, site, settings):
    for source in [
        "http://pub.example:8080/open/a",
        "https://PUB.example/open/a",
        "https://u@pub.example/open//a",
        "https://pub.example/open/%61",
    ]:
        factories.content(account, source=source, policy_id=factories.policy(account).pk)
        assert uses_of(account, "/open/a", "/open/b") == [[], ["search"]]
    settings.SAME_PAGE = SamePage(slash=True, index=True)
    factories.content(account, source="https://pub.example/open/a", policy_id=factories.policy(account).pk)
    assert uses_of(account, "/open/a", "/open/a/", "/open/a/index.html", "/open/ab") == [[], [], [], ["search"]]


def test_patterns_do_not_affect_each_other_even_by_queries(account):
    replace_site(
        account,
        {"/open/*": factories.policy(account, SEARCH_ONLY), "/free/*": factories.policy(account, factories.DENY_ALL)},
    )
    assert uses_of(account, "/open/a", "/free/a") == [["search"], []]
    replace_site(
        account, {"/*.pdf$": factories.policy(account, factories.ALLOW_ALL), "/p/": factories.policy(account)}
    )
    assert uses_of(account, "/x.pdf", "/p/x?file=.pdf", "/p/x?file=.pdf?") == [sorted(USES), [], []]


def test_more_items_than_documents_list_narrow_their_patterns(account, site, monkeypatch):
    monkeypatch.setattr(terms, "MAX_ITEM_TERMS", 1)
    for path in ("/open/a", "/premium/b"):
        policy = factories.policy(account, factories.ALLOW_ALL)
        factories.content(account, source=f"https://pub.example{path}", policy_id=policy.pk)
    factories.content(account, source="https://pub.example/open/c", policy_id=factories.policy(account).pk)
    assert uses_of(account, "/open/a", "/open/c", "/open/d") == [sorted(USES), [], []]


def test_with_too_many_items_and_patterns_the_patterns_promise_nothing(account, site, monkeypatch):
    policy = factories.policy(account, factories.ALLOW_ALL)
    factories.content(account, source="https://pub.example/open/a", policy_id=policy.pk)
    assert uses_of(account, "/open/a", "/open/d") == [sorted(USES), ["search"]]
    monkeypatch.setattr(terms, "MAX_COMPARISONS", 1)
    factories.content(account, source="https://pub.example/open/b", policy_id=policy.pk)
    assert uses_of(account, "/open/a", "/open/d") == [[], []]


def test_a_proxy_of_a_deleted_site_gets_no_documents(account, site, settings):
    settings.ALLOWED_HOSTS = ["licensing.example"]
    key = {"X-Licensing-Key": factories.key_text(account)}
    assert get(RSL, **key).status_code == 200
    site.delete()
    for path in (RSL, TDMREP):
        reply = get(path, **key)
        assert (reply.status_code, reply.headers["Content-Type"]) == (404, "text/plain; charset=utf-8")
        assert get(path).status_code == 400  # nobody's host


def test_a_host_that_two_accounts_have_gets_documents_by_the_key_alone(account, other_account, site):
    factories.site(other_account, {"/*": factories.policy(other_account, factories.ALLOW_ALL)}, host="pub.example")
    assert get(RSL).status_code in (400, 404)
    own = get(RSL, **{"X-Licensing-Key": factories.key_text(account)})
    theirs = get(RSL, **{"X-Licensing-Key": factories.key_text(other_account)})
    assert b"/open/*" in own.content
    assert b"ai-train" in theirs.content


def test_a_wrong_key_of_the_proxy_is_an_outage_that_names_it_and_is_logged_once_a_minute(site, caplog, monkeypatch):
    monkeypatch.setattr(middleware, "faults", RepeatedLog())
    for _ in range(3):
        reply = get(RSL, **{"X-Licensing-Key": "svc_sk_PUT-THE-KEY-HERE"})
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "A document of a site was not served: The proxy's X-Licensing-Key is refused.")
    ]
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "service_unavailable")
    assert reply.json()["error"]["message"] == "The proxy's X-Licensing-Key is refused."


def test_a_host_that_has_become_the_services_own_has_no_documents(account, site, settings):
    assert get(RSL).status_code == 200
    settings.ALLOWED_HOSTS = ["pub.example"]
    key = factories.key_text(account)
    assert [get(RSL, **headers).status_code for headers in ({}, {"X-Licensing-Key": key})] == [404, 404]
    assert "own_host" in [one.code for one in lint_site(site)]


RULES = st.lists(st.tuples(PATTERNS, POLICIES), max_size=5, unique_by=lambda pair: compile_pattern(pair[0]))


@given(RULES, ITEMS, PATHS, QUERIES, SEEKERS, st.booleans())
@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_service_allows_all_that_documents_permit(rules, items, path, query, seeker, denies_unknown):
    published = terms_of(rules, items, denies_unknown=denies_unknown)
    expect_no_more_than_allowed(published, rules, items, path + query, seeker)


@given(RULES, ITEMS, PATHS, QUERIES, SEEKERS, st.booleans(), st.integers(0, 30), st.integers(0, 3), st.integers(0, 2))
@settings(max_examples=examples(600), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_service_allows_all_that_abridged_documents_permit(
    rules, items, path, query, seeker, denies_unknown, comparisons, literals, items_listed
):
    with (
        patch.object(terms, "MAX_COMPARISONS", comparisons),
        patch.object(terms, "MAX_ITEM_TERMS", items_listed),
        patch.object(overlaps, "MAX_LITERALS", literals),
    ):
        published = terms_of(rules, items, denies_unknown=denies_unknown)
    expect_no_more_than_allowed(published, rules, items, path + query, seeker)


def expect_no_more_than_allowed(published, rules, items, target, seeker):
    documents = write_documents(Publication("pub.example", published, "Example Media"))
    seeker = dict(seeker)
    now = moment(seeker.pop("month"))
    told = {
        use: read.__name__ for name, readers in READERS.items() for read in readers if name in documents
        for use in read(documents[name], target)
    }  # fmt: skip
    for use, reader in told.items():
        for policy in policies_at(rules, items, target):
            for permission in (use, "read"):
                decision = judge(policy, Facts(now=now, permission=permission, **seeker))
                assert decision.allowed, reader
                assert decision.rule.rate_limit is None


@given(RULES, ITEMS, ITEMS)
@settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
def test_registering_an_item_changes_no_other_entry(rules, items, further):
    """Except for patterns so long that crawlers prefer them to the item's own URL."""
    before = {one.url: one for one in terms_of(rules, items)}
    after = {one.url: one for one in terms_of(rules, [*items, *further])}
    paths = {quote(item.page.path): item.page.path for item in further}  # by how documents write them
    own = [url for url in before if url.startswith(tuple(f"{written}{end}" for written in paths for end in "$?"))]
    assume(further and before.keys() - own)
    for url, entry in before.items():
        if url in own:
            continue
        if url not in after:  # a guard, of a pattern that promises nothing any more
            assert "?*" in url
            assert not entry.uses
        elif any(len(url) > len(written) and compiled_path(url).matches(path) for written, path in paths.items()):
            assert after[url].uses <= entry.uses
        else:
            assert after[url] == entry


def compiled_path(url):
    return compile_pattern(url.partition("?")[0])


def test_documents_permit_the_uses_allowed_to_everybody(account):
    replace_site(account, {"/*": factories.policy(account, factories.ALLOW_ALL)})
    for path in READERS:
        for read in READERS[path]:
            uses = read(get(path).content, "/free/a?x")
            assert uses == ({"ai_input", "ai_training"} if path == TDMREP else set(USES)), path


def test_a_host_without_a_site_has_no_documents_and_one_without_policies_only_denials_of_unknown_pages(account):
    for path in [RSL, ROBOTS, TDMREP]:
        assert get(path, host="localhost").status_code == 404, path
        replace_site(account, {})
        assert get(path).status_code == 404, path
    replace_site(account, {}, unknown="deny")
    [content] = ElementTree.fromstring(get(RSL).content)  # noqa: S314 - our own
    assert (content.attrib["url"], content[0][0].text) == ("https://pub.example/", "all")
    replace_site(account, {"/a/*": factories.policy(account, factories.DENY_ALL)})
    assert get("/.well-known/tdm-policy.json").status_code == 404


def test_the_odrl_policy_names_the_conditions_of_mining(account):
    price = {"amount": "0.01", "currency": "USD"}
    priced = {**factories.ALLOW_LICENSED, "pricePerAccess": price}
    replace_site(
        account,
        {
            "/freely/*": factories.policy(account, factories.ALLOW_ALL),
            "/held/*": factories.policy(account),
            "/paid/*": factories.policy(account, priced),
            "/never/*": factories.policy(account, factories.DENY_ALL),
        },
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
    held, paid = told["permission"]
    assert held == {
        "target": "https://pub.example/held/*", "action": "tdm:mine", "duty": [{"action": "obtainConsent"}]
    }  # fmt: skip
    assert paid["target"] == "https://pub.example/paid/*"
    assert paid["duty"][0]["action"][0]["refinement"][0]["rightOperand"]["@value"] == "0.01"


def test_a_policy_that_opens_everything_promises_every_use(account):
    policy = factories.policy(account, factories.ALLOW_ALL)
    assert promised_uses(compiled_policies.get([(policy.pk, 1)])[policy.pk, 1]) == set(USES)
