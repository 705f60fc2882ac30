"""Registered items that are not open, in a site's generated proxy file."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.values.same_page_setting import SamePage
from licensing.edge.proxies import items, page_access
from licensing.edge.proxies.accesses import Access, strictest
from licensing.edge.proxies.page_access import Pages, describe
from licensing.sites.models import Site
from licensing.sites.patterns import compile_pattern
from tests import factories
from tests.edge.asking import LICENSED, READERS

METERED = {**READERS, "rateLimit": {"requests": 5, "period": "month"}}
LIMIT = 3


@pytest.fixture
def policies(account, monkeypatch):
    for module in (items, page_access):
        monkeypatch.setattr(module, "MAX_CLOSED_ITEMS", LIMIT)
    return {
        name: factories.policy(account, rule)
        for name, rule in {"open": READERS, "metered": METERED, "licensed": LICENSED}.items()
    }


@pytest.fixture
def site(account, policies):
    rules = {"/articles/*": "open", "/metered/*": "metered", "/premium/*": "licensed"}
    return factories.site(account, {text: policies[name] for text, name in rules.items()}, unknown="allow")


@pytest.fixture
def register(account, site, policies):
    """Register items at paths that begin with the given one."""

    def perform(path, number=1, policy="licensed", **fields):
        chosen = policies[policy].pk if policy else None
        for count in range(number):
            source = f"https://{site.host}{path}{count if number > 1 else ''}"
            factories.content(account, source=source, policy_id=chosen, **fields)

    return perform


def access_in_file(path, entries, default):
    for entry in entries:
        match = re.fullmatch if entry.is_whole else re.match
        if match(entry.expression, path, 0 if entry.is_whole else re.IGNORECASE):
            return entry.access
    return default


def while_down(site, *paths):
    """Return which of the paths stay open while the service is down."""
    description = describe(site)
    return [path for path in paths if access_in_file(path, description.entries, description.default) != "closed"]


PAGES = ["/", "/articles/a", "/metered/a", "/premium/a"]


def test_items_below_a_closed_pattern_close_no_other_page_however_many_they_are(site, register):
    register("/premium/a", 2 * LIMIT)
    register("/premium/old", 2 * LIMIT, "open", status="archived")
    register("/premium/none", 2 * LIMIT, None)
    register("/metered/a", 2 * LIMIT, "metered")
    assert (describe(site).patterns, describe(site).omitted) == (["/articles/*", "/metered/*", "/*"], [])
    assert while_down(site, *PAGES, "/premium/a0", "/metered/a0") == [*PAGES[:3], "/metered/a0"]


def test_too_many_items_close_only_the_pattern_that_has_most_of_them_with_a_true_reason(site, register):
    register("/articles/sold", LIMIT + 1)
    register("/sold", LIMIT)
    description = describe(site)
    assert description.patterns == ["/metered/*", "/*"]
    reason = "4 of its items are not open to everybody, and a file names at most 3 such items."
    assert description.omitted == [("/articles/*", reason)]
    sold = ["/sold0", "/sold2", "/articles/sold0", "/articles/sold3"]
    assert while_down(site, *PAGES, *sold) == ["/", "/metered/a"]


def test_of_patterns_with_as_many_items_the_longest_is_closed(site, register):
    for path in ("/articles/sold", "/metered/sold", "/sold"):
        register(path, 2)
    assert [text for text, _ in describe(site).omitted] == ["/articles/*", "/metered/*"]
    assert while_down(site, *PAGES, "/sold0", "/sold1") == ["/"]


def test_a_site_that_observes_keeps_every_page_open_with_too_many_items(site, register):
    register("/articles/sold", LIMIT + 1)
    site.mode = "observe"
    assert describe(site).omitted == []
    assert while_down(site, *PAGES, "/articles/sold0") == [*PAGES, "/articles/sold0"]


def test_a_closed_item_below_a_longer_open_pattern_stays_closed(account, policies, site, register):
    rules = {"/premium/*": "licensed", "/premium/free/*": "open", "/*/index.html$": "open", "/*": "open"}
    site = factories.site(
        account, {text: policies[name] for text, name in rules.items()}, host="other.example", unknown="deny"
    )
    for path in ("/premium/free/sold", "/premium/sold"):
        factories.content(account, source=f"https://{site.host}{path}", policy_id=policies["licensed"].pk)
    paths = ["/premium/free/a", "/premium/free/sold", "/premium/free/sold/", "/premium/sold", "/premium/sold/"]
    assert while_down(site, *paths) == ["/premium/free/a"]


def test_an_item_is_closed_by_each_spelling_that_the_setting_takes_for_it(account, policies, settings):
    settings.SAME_PAGE = SamePage(slash=True, index=True)
    for host, pattern in (("slash.example", "/a/b/*"), ("index.example", "/*.html$")):
        rules = {"/a*": policies["licensed"], pattern: policies["open"]}
        site = factories.site(account, rules, host=host, unknown="deny")
        factories.content(account, source=f"https://{host}/a/b", policy_id=policies["licensed"].pk)
        assert while_down(site, "/a/b", "/a/b/", "/a/b/index.html") == []


def test_a_metered_item_below_a_closed_pattern_stays_open_if_it_is_not_for_one_query_alone(site, register):
    register("/premium/metered", policy="metered")
    register("/premium/view?id=1", policy="metered")
    register("/articles/view?id=1", policy="metered")
    paths = ["/premium/metered", "/premium/view", "/articles/view", "/premium/metered/a"]
    assert while_down(site, *paths) == ["/premium/metered", "/articles/view"]
    register("/articles/sold", LIMIT)
    assert [text for text, _ in describe(site).omitted] == ["/articles/*"]
    register("/premium/metered", policy="licensed")
    assert while_down(site, "/premium/metered") == []


def test_items_beyond_the_comparisons_close_every_open_pattern_rather_than_opening_an_item(
    site, register, monkeypatch
):
    monkeypatch.setattr(items, "MAX_COMPARISONS", 1)
    register("/premium/a", LIMIT)
    assert describe(site).omitted == []
    register("/premium/b")
    assert describe(site).patterns == []
    assert {reason for _, reason in describe(site).omitted} == {page_access.NOT_COMPARED}
    assert while_down(site, *PAGES, "/premium/a0", "/premium/b") == []


ACCESSES = st.sampled_from(Access)
PATHS = st.text("/ab", max_size=4).map(lambda text: re.sub("/+", "/", f"/{text}"))
PATTERNS = st.text("/ab*", max_size=4).map(lambda text: re.sub("/+", "/", f"/{text}"))
TEXTS = st.builds(lambda text, end: f"{text}{end}", PATTERNS, st.sampled_from(["", "$"]))


@given(st.dictionaries(TEXTS, ACCESSES), st.dictionaries(PATHS, st.tuples(ACCESSES, st.booleans())), st.integers(0, 4))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_no_page_stays_open_that_its_item_or_pattern_closes(rules, registered, limit):
    pages = Pages(Site(mode="enforce", unknown="deny"))
    pages.rules = [(text, compile_pattern(text), access) for text, access in rules.items()]
    pages.items = {path: access for path, (access, _) in registered.items() if access != Access.OPEN}
    pages.paths_with_every_query = {path for path, (_, has_every_query) in registered.items() if has_every_query}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items, "MAX_CLOSED_ITEMS", limit)
        entries, _, omitted = pages.entries()
    by_length = sorted(pages.rules, key=lambda rule: (-rule[1].length, rule[2].strictness))
    for path in {*registered, *(f"{path}a" for path in registered), *(text.strip("*$") or "/" for text in rules)}:
        decided = next((access for _, pattern, access in by_length if pattern.matches(path)), Access.CLOSED)
        item, has_every_query = registered.get(path, (decided, True))
        expected = item if has_every_query else strictest(item, decided)
        assert access_in_file(path, entries, Access.CLOSED).strictness <= expected.strictness
    if sum(access != Access.OPEN for access, _ in registered.values()) <= limit:
        assert omitted == []
