import pytest

from licensing.edge import site_lint
from licensing.edge.audiences import sentences
from licensing.edge.publishing.documents import compiled_rules
from licensing.edge.site_lint import lint_site, lint_sizes
from licensing.policies.lint import lint
from tests import factories
from tests.edge.documents import SEARCH_ONLY
from tests.edge.priced_rules import FOR_SALE, LICENSEES, NATURAL


@pytest.fixture
def site(account):
    """Create pub.example with a policy of these rules for each pattern."""

    def site(**patterns):
        rules = {f"/{name}/*": factories.policy(account, *rules) for name, rules in patterns.items()}
        return factories.site(account, rules, host="pub.example")

    return site


def codes(site):
    return [(one.code, one.pattern) for one in lint_site(site)]


def test_each_audience_has_a_sentence_about_its_rights(site):
    told = sentences(
        compiled_rules(site(open=[SEARCH_ONLY], news=NATURAL, press=[LICENSEES], closed=[factories.DENY_ALL])),
        denies_unknown=False,
    )
    refused, others = "are refused at /open/* and /closed/*", "and may read all other pages."
    assert [sentence for _, sentence in told] == [
        "Readers may use /open/*, need a licence for /news/* and /press/*, are refused at /closed/* " + others,
        "Search engines may use /open/*, need a licence for /news/* and /press/*, are refused at /closed/* " + others,
        f"Indexes of AI services {refused}, pay 0.015 USD for each access to /news/*, need a licence for /press/* "
        + others,
        f"Crawlers for AI answers {refused}, pay 0.015 USD for each access to /news/*, need a licence for /press/* "
        + others,
        f"Crawlers for AI training {refused}, pay 0.015 USD for each access to /news/*, need a licence for /press/* "
        + others,
        f"Archives {refused}, need a licence for /news/* and /press/* {others}",
    ]


def test_sentences_name_what_search_engines_may_use(site):
    search = {"action": "allow", "priority": 2, "conditions": {"permission": "search"}, "permissions": ["search"]}
    [_, (_, told), *_] = sentences(compiled_rules(site(closed=[LICENSEES, search])), denies_unknown=True)
    assert told == "Search engines may use /closed/* and are refused at all other pages."
    assert sentences([], denies_unknown=True)[1][1] == "Search engines are refused at all other pages."


def test_sentences_name_what_readers_may_use_within_a_limit(site):
    limit = {"requests": 5, "period": "month", "per": "visitor"}
    metered = {
        "action": "allow",
        "priority": 2,
        "conditions": {"default": True},
        "permissions": ["read"],
        "rateLimit": limit,
    }
    [(_, readers), (_, search), *_] = sentences(
        compiled_rules(site(articles=[LICENSEES, metered], premium=[LICENSEES])), denies_unknown=True
    )
    others = "and are refused at all other pages."
    assert readers == f"Readers may use /articles/* within a rate limit, need a licence for /premium/* {others}"
    assert search == f"Search engines need a licence for /articles/* and /premium/* {others}"


def test_uses_whose_price_is_published_are_not_left_out(site):
    found = {one.pattern: one.message for one in lint_site(site(sold=[FOR_SALE, SEARCH_ONLY], closed=[LICENSEES]))
             if one.code == "stricter_than_policy"}  # fmt: skip
    assert list(found) == ["/closed/*"]


@pytest.mark.parametrize(
    ("base_url", "is_warned"), [("http://licensing.example", True), ("https://licensing.example", False), ("", False)]
)
def test_a_base_url_without_tls_is_warned_about(site, settings, base_url, is_warned):
    settings.BASE_URL = base_url
    assert (("insecure_base_url", "") in codes(site(open=[SEARCH_ONLY]))) is is_warned


def test_rules_that_never_match_and_prices_never_offered_are_reported(site):
    shut, sale = {**factories.DENY_ALL, "priority": 1}, {**FOR_SALE, "priority": 1}
    made = site(
        dead=[shut, {**factories.ALLOW_ALL, "priority": 2}],
        unsold=[sale, {**sale, "priority": 2, "permissions": ["full_access"]}],
    )
    assert {("unreachable_rule", "/dead/*"), ("unreachable_rule", "/unsold/*")} <= set(codes(made))


def test_rules_for_permissions_never_requested_are_reported(site):
    rule = {"action": "allow", "conditions": {"permission": "commercial_use"}, "permissions": ["commercial_use"]}
    assert ("never_asked", "/a/*") in codes(site(a=[rule, SEARCH_ONLY]))


def test_a_pattern_that_decides_no_page_is_named(account):
    rules = {"/": factories.policy(account, SEARCH_ONLY), "/*": factories.policy(account, SEARCH_ONLY)}
    site = factories.site(account, rules, host="pub.example")
    assert [(code, pattern) for code, pattern in codes(site) if pattern == "/"] == [("pattern_never_decides", "/")]


def test_open_pages_whose_mining_is_reserved_are_named(account):
    policy = factories.policy(account, LICENSEES)
    sites = [({}, "allow", True), ({}, "deny", False), ({"/*": policy}, "allow", False), ({"/*": None}, "allow", True)]
    for number, (others, unknown, is_named) in enumerate(sites):
        rules = {"/premium/*": policy, **others}
        site = factories.site(account, rules, host=f"pub{number}.example", unknown=unknown)
        assert ("others_reserved" in [code for code, _ in codes(site)]) is is_named, (rules, unknown)


@pytest.mark.parametrize(
    ("patterns", "named"),
    [
        (["/premium/*"], ["/premium/*"]),
        (["/premium/", "/a/b/*"], ["/premium/", "/a/b/*"]),
        (["/premium/*", "/premium$"], []),
        (["/premium/*", "/*"], []),
        (["/premium/*", "/prem"], []),
        (["/", "/premium", "/*/premium/*", "/premium/*/a", "/premium/$"], []),
    ],
)
def test_a_folder_that_stays_open_without_its_slash_is_named(account, patterns, named):
    policy = factories.policy(account, LICENSEES)
    site = factories.site(account, dict.fromkeys(patterns, policy), host="pub.example")
    found = [one for one in lint_site(site) if one.code == "open_without_slash"]
    assert [one.pattern for one in found] == named
    if named:
        assert "/premium without the slash" in found[0].message


def test_a_folder_that_is_free_or_closed_without_its_slash_is_not_named(account):
    free, closed = factories.policy(account, factories.ALLOW_ALL), factories.policy(account, LICENSEES)
    for rules, unknown in (({"/free/*": free}, "allow"), ({"/premium/*": closed}, "deny")):
        site = factories.site(account, rules, host=f"{unknown}.example", unknown=unknown)
        assert "open_without_slash" not in [code for code, _ in codes(site)]


def test_a_policy_is_linted_once_for_all_its_patterns_and_only_while_the_rules_are_few(account, monkeypatch):
    linted = []

    def count(rules, *arguments):
        linted.append(len(rules))
        return lint(rules, *arguments)

    monkeypatch.setattr(site_lint, "lint", count)
    long, short = factories.policy(account, *[SEARCH_ONLY] * 3), factories.policy(account, SEARCH_ONLY)
    made = factories.site(account, {"/a/*": long, "/b/*": long, "/c/*": short}, host="pub.example")
    assert "duplicate_rule" in [one.code for one in lint_site(made)]
    assert linted == [3, 1]
    monkeypatch.setattr(site_lint, "MAX_PAIRS", 9)
    assert [one.pattern for one in lint_site(made) if one.code == "policy_not_linted"] == ["/c/*"]
    assert linted == [3, 1, 3]


def test_a_robots_txt_that_crawlers_do_not_read_whole_is_warned_about():
    assert list(lint_sizes({"/robots.txt": bytes(500 * 1024)})) == []
    [finding] = lint_sizes({"/robots.txt": bytes(500 * 1024 + 1)})
    assert (finding.level, finding.code) == ("warning", "robots_too_large")
