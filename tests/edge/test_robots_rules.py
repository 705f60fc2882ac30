import random

import pytest
from protego import Protego

from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.publication import Agents, Publication
from licensing.edge.publishing.terms import terms_of
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import judge
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.offers import find_offers
from licensing.policies.rules import parse_rules
from licensing.sites.identification import Identification
from licensing.visits.robots_parser import RobotsTxt
from tests import factories
from tests.edge.documents import ROBOTS, get, moment
from tests.edge.priced_rules import AI_AT_A_PRICE
from tests.edge.published import may_fetch, policies_at
from tests.edge.random_sites import SITE, TARGETS, random_site

AGENTS = (
    Agents("ai_training", ("GPTBot", "CCBot"), can_pay=True),
    Agents("ai_training", ("Google-Extended",), can_pay=False),
    Agents("search", ("Googlebot",), can_pay=True),
)
NO_TRAINING = {"action": "deny", "priority": 1, "conditions": {"permission": "ai_training"}}
SEARCH = {"action": "allow", "priority": 2, "conditions": {"permission": "search"}, "permissions": ["search"]}


def policy(*rules):
    return CompiledPolicy.of("pol_x", 1, "deny", parse_rules(list(rules)))


def robots(rules, items=(), *, denies_unknown=False):
    terms = terms_of(rules, items, denies_unknown=denies_unknown)
    document = write_documents(Publication("pub.example", terms, "Example Media", agents=AGENTS)).get(ROBOTS, b"")
    return document.decode()


def test_the_rules_for_some_crawlers_do_not_become_those_for_all():
    """A parser of RFC 9309 gives a group without rules those of the next one."""
    text = robots([("/", policy(NO_TRAINING, factories.ALLOW_ALL))])
    for own in (text, f"{text}\nUser-agent: BadBot\nDisallow: /\n", f"User-agent: BadBot\nDisallow: /\n\n{text}"):
        for agent, is_admitted in (("GPTBot", False), ("Googlebot", True), ("Another", True)):
            assert may_fetch(own, agent, "/a") is is_admitted
            assert RobotsTxt(own).allows(f"{SITE}/a", agent) is is_admitted
            assert Protego.parse(own).can_fetch(f"{SITE}/a", agent) is is_admitted
        assert not may_fetch(own, "BadBot", "/a") or own is text


def test_a_crawler_that_no_rule_admits_is_kept_out_of_these_pages_alone_also_by_a_common_parser():
    text = robots([("/", policy(factories.ALLOW_ALL)), ("/archive/", policy(NO_TRAINING, factories.ALLOW_ALL))])
    for agent in ("GPTBot", "Googlebot"):
        for target in ("/", "/archive/", "/archive/a?x=1", "/a"):
            is_admitted = agent == "Googlebot" or not target.startswith("/archive/")
            assert may_fetch(text, agent, target) is is_admitted
            assert Protego.parse(text).can_fetch(f"{SITE}{target}", agent) is is_admitted
    assert "User-agent: GPTBot\nUser-agent: CCBot\nUser-agent: Google-Extended\nLicense: " in text
    assert "Googlebot" not in text


def test_pages_for_sale_are_closed_only_to_tokens_that_cannot_pay():
    text = robots([("/", policy(AI_AT_A_PRICE, {**factories.DENY_ALL, "priority": 9}))])
    assert (may_fetch(text, "GPTBot", "/a"), may_fetch(text, "Google-Extended", "/a")) == (True, False)


def test_each_group_has_all_statements():
    groups = robots([("/", policy(NO_TRAINING, factories.ALLOW_ALL))]).split("\n\n")
    stated = [[line for line in group.splitlines() if line.startswith(("License", "Content"))] for group in groups]
    assert len(groups) == 2
    assert stated[0] == stated[1] != []


def test_files_that_are_open_to_everybody_stay_so():
    text = robots([("/news/", policy(SEARCH))], denies_unknown=True)
    for target in (
        "/ads.txt",
        "/sitemap_index.xml",
        "/news-sitemap.xml",
        "/wp-sitemap-posts-post-1.xml",
        "/sitemaps/1.xml",
        "/.well-known/x",
        "/news/a",
    ):
        assert may_fetch(text, "Googlebot", target), target
    assert not may_fetch(text, "Googlebot", "/other")


@pytest.mark.parametrize("seed", range(6))
def test_no_crawler_is_kept_out_of_a_page_that_it_may_have(seed):
    chosen, kept_out = random.Random(seed), 0
    for _ in range(40):
        rules, items, denies_unknown = random_site(chosen)
        text = robots(rules, items, denies_unknown=denies_unknown)
        for target in TARGETS:
            for agents in AGENTS:
                if not may_fetch(text, agents.tokens[0], target):
                    kept_out += 1
                    policies = policies_at(rules, items, target)
                    assert not all(one is not None and lets_in(one, agents) for one in policies), (text, target)
    assert kept_out > 300


def lets_in(one, agents):
    facts = Facts(moment(1), "crawler:x", agents.use, identified_by=Identification.ADDRESS)
    licensed = Facts(moment(1), "crawler:x", agents.use, has_valid_license=True, licenses=(HeldLicense(None),),
                     identified_by=Identification.ADDRESS)  # fmt: skip
    if judge(one, facts).allowed:
        return True
    return agents.can_pay and (judge(one, licensed).allowed or any(find_offers(one, facts)))


def test_the_service_names_the_crawlers_of_its_table(account):
    factories.site(account, {"/*": factories.policy(account, NO_TRAINING, factories.ALLOW_ALL)}, host="pub.example")
    lines = get(ROBOTS).content.decode().splitlines()
    assert {"User-agent: GPTBot", "User-agent: Google-Extended", "Disallow: /*"} <= set(lines)
    assert "User-agent: Googlebot" not in lines
