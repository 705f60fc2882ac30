"""Loops over what an account stores take time in proportion to its size, and other accounts do not wait for them.

Each loop runs at its documented limit and at half of it. Twice the size may take about twice the time. A loop over
pairs takes four times as long, and anybody who asks for a document of the site makes the service run it.

A new loop over stored configuration needs a case in CASES: what it does, how to build it in a size, and its limit.
"""

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from accounts.models import Account
from kit.values.canonical_pages import RegisteredPage
from kit.values.paths import MAX_LENGTH, read
from licensing.access.event_loop.blocking_calls import look_up_account
from licensing.access.subjects import LookupRequest
from licensing.edge.audiences import sentences
from licensing.edge.crawlers import MAX_CRAWLERS, MAX_USER_AGENT, parse_table
from licensing.edge.original import MAX_URI
from licensing.edge.proxies.items import MAX_COMPARISONS as MAX_CLOSED_COMPARISONS
from licensing.edge.proxies.items import deciding_places
from licensing.edge.publishing.documents import terms_of_site, write_documents
from licensing.edge.publishing.promises import ANY_TIME
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.published_terms import Terms
from licensing.edge.publishing.terms import MAX_COMPARISONS, MAX_ITEM_TERMS, Item, terms_of
from licensing.edge.site_published import MAX_BYTES, lint_robots
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.facts import Facts
from licensing.policies.offers import find_offers
from licensing.policies.rules import MAX_RULES as MAX_POLICY_RULES
from licensing.policies.rules import parse_rules
from licensing.sites.models import Site
from licensing.sites.patterns import MAX_CHARACTERS, MAX_WILDCARDS, RuleTable, compile_pattern
from licensing.sites.serializers import MAX_ROBOTS_TXT, MAX_RULES
from licensing.visits.robots_parser import RobotsTxt
from tests import factories

MOST = 2.5  # times as long for twice the size
FLOOR = 0.002  # seconds of processor time; a loop that is faster at its limit stops nobody
ROUNDS = 15  # a busy machine disturbs single measurements

Loop = Callable[[], object]


class Case(NamedTuple):
    """A loop: `build` returns it for a size, of which `limit` is the largest."""

    build: Callable[[int], Loop]
    limit: int


class Rule(NamedTuple):
    pattern: str


def priced_rules(count: int, price: str = "0.01") -> list[dict[str, Any]]:
    return [
        {
            "action": "allow",
            "conditions": {"licenseType": f"priced{number}"},
            "permissions": ["read", "search"],
            "pricePerAccess": {"amount": price, "currency": "USD"},
        }
        for number in range(count)
    ]


def priced_policy(price: str) -> CompiledPolicy:
    return CompiledPolicy.of("pol_x", 1, "deny", parse_rules(priced_rules(1, price)))


def overlapping_patterns(count: int) -> list[str]:
    """Return patterns that match common paths, of the length and with the wildcards that a site may have."""
    length = MAX_CHARACTERS // MAX_RULES - 10
    return [f"/*{'ab' * (length // 4)}*{'ba' * (length // 4)}*{number:03}" for number in range(count)]


def single_pages(count: int) -> list[str]:
    """Return patterns of which half match a single path, and the others many."""
    return [f"/{number:03}{'a' * 40}$" if number % 2 else f"/*{'a' * 20}*{'a' * 18}$" for number in range(count)]


def terms_of_patterns(patterns: list[str]) -> Loop:
    rules = [(pattern, priced_policy(f"0.{place + 1:03}")) for place, pattern in enumerate(patterns)]
    return lambda: terms_of(rules)


def terms_of_policy(rules: int) -> Loop:
    """Derive the terms of a policy in which the first half decides about all who pay the prices of the second."""
    denied = {"action": "deny", "conditions": {"hasValidLicense": True}}
    licensed = [{"action": "allow", "conditions": {"licenseType": f"t{number}"}} for number in range(rules // 2)]
    policy = CompiledPolicy.of("pol_x", 1, "deny", parse_rules([*licensed, denied, *priced_rules(rules // 2 - 1)]))
    return lambda: Terms.from_policy(policy)


def offers_of_policy(rules: int) -> Loop:
    """Find the offers of a policy in which each rule is an offer, as each 402 does."""
    policy = CompiledPolicy.of("pol_x", 1, "deny", parse_rules(priced_rules(rules)))
    facts = Facts(ANY_TIME, "anonymous", "read")
    return lambda: [list(find_offers(policy, facts)) for _ in range(10)]


def sentences_of_policies(rules: int) -> Loop:
    """Describe policies in which each rule is for another licence type, and for items of another category."""
    only = [
        {"action": "allow", "conditions": {"licenseType": f"t{number}", "category": "art"}} for number in range(rules)
    ]
    policy = CompiledPolicy.of("pol_x", 1, "deny", parse_rules(only))
    site = [(f"/{number}/*", policy) for number in range(10)]
    return lambda: sentences(site, denies_unknown=True)


def terms_of_items(size: int) -> Loop:
    patterns = [f"/*/{number:03}*a*b" for number in range(MAX_RULES)]
    rules = [(pattern, priced_policy("0.01")) for pattern in patterns]
    parts = sum(len(compile_pattern(pattern).parts) for pattern in patterns)
    pages = [RegisteredPage("pub.example", f"/x/{number}", frozenset()) for number in range(size // (2 * parts))]
    items = [Item(f"https://pub.example{page.path}", page, None) for page in pages]
    return lambda: terms_of(rules, items, denies_unknown=False)


def published_documents(size: int) -> Loop:
    terms = [Terms(f"/items/{number}$", frozenset({"search"} if number % 2 else ())) for number in range(size)]
    return lambda: write_documents(Publication("pub.example", terms, "Example Media"))


def published_robots_txt(size: int) -> Loop:
    """Compare a fetched robots.txt, in which each line is about another path, with the entries of documents."""
    line = "Content-Usage: /{:06} train-ai=y\n"
    body = "".join(map(line.format, range(size // len(line)))).encode()
    terms = [Terms(f"/items/{number}$") for number in range(3 * MAX_ITEM_TERMS)]
    publication = Publication("pub.example", terms, "Example Media")
    return lambda: list(lint_robots(body, publication))


def match_page(patterns: list[str], path: str) -> Loop:
    table = RuleTable(map(Rule, patterns))
    return lambda: table.most_specific(path)


def many_wildcards(count: int) -> list[str]:
    return [f"/{'a*' * (MAX_WILDCARDS - 1)}b{number:03}*" for number in range(count)]


def periodic_parts(characters: int) -> list[str]:
    """Return patterns that a naive search compares with a path of equal letters over and over."""
    part = "a" * 45 + "b" + "a" * 45
    return [f"/*{part}{number:03}" for number in range(characters // (len(part) + 5))]


def match_readings(length: int) -> Loop:
    """Read a path in all the ways in which origins may, and match each reading with a site at its limits."""
    path = ("/" + "a" * 100 + ";x/..;/%252e%252e").ljust(length, "a")
    table = RuleTable(map(Rule, many_wildcards(MAX_RULES)))
    return lambda: [table.most_specific(reading) for reading in read(path)[0]]


def crawler_table(rows: int) -> bytes:
    crawlers = [
        {"name": f"Bot{row}", "class": "search", "operator": "x", "userAgent": f"aaaaaaaa{row:05}"}
        for row in range(rows)
    ]
    return msgspec.json.encode({"date": "2026-11-22", "crawlers": crawlers})


def parse_crawlers(rows: int) -> Loop:
    data = crawler_table(rows)
    return lambda: parse_table(data)


def claim_crawlers(rows: int) -> Loop:
    table = parse_table(crawler_table(rows))
    user_agents = ["a" * MAX_USER_AGENT, "aaaaaaaa0000 " * (MAX_USER_AGENT // 13)]
    return lambda: [table.find_claim(user_agent) for user_agent in user_agents for _ in range(10)]


def robots_txt(size: int, line: str = "Disallow: /a*a*b$\n") -> str:
    return "User-agent: *\n" + line * (size // len(line))


def long_rule(size: int) -> str:
    return robots_txt(size, "Disallow: /" + "*a" * (size // 2 - 10))


def long_rules(size: int) -> str:
    return robots_txt(size, f"Allow: /*{'a' * 40}b\n")


def parse_robots_txt(write: Callable[[int], str]) -> Callable[[int], Loop]:
    def build(size: int) -> Loop:
        text = write(size)
        return lambda: RobotsTxt(text)

    return build


def match_robots_txt(write: Callable[[int], str]) -> Callable[[int], Loop]:
    def build(size: int) -> Loop:
        robots = RobotsTxt(write(size))
        return lambda: robots.allows("https://pub.example/" + "a" * 2000, "GPTBot")

    return build


def closed_pages(size: int) -> Loop:
    """Find the patterns that decide many pages, of which every one is a candidate."""
    patterns = [compile_pattern(f"/*/{number:03}*a*b") for number in range(MAX_RULES)]
    parts = sum(len(pattern.parts) for pattern in patterns)
    paths = [f"/x/{number}" for number in range(size // (3 * parts))]
    return lambda: deciding_places(patterns, paths)


CASES = {
    "patterns that overlap": Case(lambda size: terms_of_patterns(overlapping_patterns(size)), MAX_RULES),
    "patterns for single pages": Case(lambda size: terms_of_patterns(single_pages(size)), MAX_RULES),
    "items below patterns": Case(terms_of_items, MAX_COMPARISONS),
    "rules of a policy, in documents": Case(terms_of_policy, MAX_POLICY_RULES),
    "offers of a policy": Case(offers_of_policy, MAX_POLICY_RULES),
    "rules of a policy, in sentences": Case(sentences_of_policies, MAX_POLICY_RULES),
    "policies of a site, in documents": Case(
        lambda size: terms_of_patterns([f"/{number}/*" for number in range(size)]), MAX_RULES
    ),
    "entries of documents": Case(published_documents, 3 * MAX_ITEM_TERMS),
    "lines of a fetched robots.txt": Case(published_robots_txt, MAX_BYTES),
    "a page and patterns with wildcards": Case(
        lambda size: match_page(many_wildcards(size), "/" + "a" * 2000), MAX_RULES
    ),
    "a page and periodic patterns": Case(
        lambda size: match_page(periodic_parts(size), "/" + "a" * 2000), MAX_CHARACTERS
    ),
    "all readings of a page": Case(match_readings, MAX_LENGTH),
    "table of crawlers, parsed": Case(parse_crawlers, MAX_CRAWLERS),
    "table of crawlers, searched": Case(claim_crawlers, MAX_CRAWLERS),
    "robots.txt, parsed": Case(parse_robots_txt(robots_txt), MAX_ROBOTS_TXT),
    "robots.txt with one long rule, parsed": Case(parse_robots_txt(long_rule), MAX_ROBOTS_TXT),
    "robots.txt, matched": Case(match_robots_txt(robots_txt), MAX_ROBOTS_TXT),
    "robots.txt with long rules, matched": Case(match_robots_txt(long_rules), MAX_ROBOTS_TXT),
    "closed pages below open patterns": Case(closed_pages, MAX_CLOSED_COMPARISONS),
    "a long page": Case(lambda size: match_page(many_wildcards(MAX_RULES), "/" + "a" * size), MAX_URI),
    "a long page and periodic patterns": Case(
        lambda size: match_page(periodic_parts(MAX_CHARACTERS), "/" + "a" * size), MAX_URI
    ),
}


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Keep the garbage collector, which visits every object of the test run, out of the measurements."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", CASES)
def test_twice_the_size_takes_about_twice_the_time(name: str) -> None:
    assert growth(CASES[name]) <= MOST


def growth(case: Case) -> float:
    """Return how many times as long the loop takes at its limit as at half of it; 0 if it takes less than FLOOR."""
    half, whole = case.build(case.limit // 2), case.build(case.limit)
    at_half = at_limit = float("inf")
    half()  # the first time fills caches
    for _ in range(ROUNDS):
        at_half, at_limit = min(at_half, seconds(half)), min(at_limit, seconds(whole))
        if at_limit < FLOOR:
            return 0
        if at_limit <= MOST * at_half:
            break
    return at_limit / at_half


def seconds(loop: Loop) -> float:
    begin = time.process_time()
    loop()
    return time.process_time() - begin


@pytest.fixture
def large_site(account: Account) -> Site:
    patterns = ["/" + "a*" * 1_000 + f"{number:03}" for number in range(MAX_RULES)]
    policy = factories.policy(account, factories.ALLOW_ALL)
    return factories.site(
        account, dict.fromkeys([*patterns[1:], "/open/*"], policy), host="pub.example", unknown="deny"
    )


def looked_up(site: Site, target: str) -> Any:
    selector = "page", f"https://{site.host}{target}"
    return look_up_account(LookupRequest(site.account_id, {selector}, set())).items.get(selector)


def test_patterns_beyond_the_limits_match_are_published_and_deny_urls_with_many_readings(large_site: Site) -> None:
    assert looked_up(large_site, "/open/a").facts["pattern"] == "/open/*"
    assert looked_up(large_site, "/" + "a" * 1_000 + "007").facts["pattern"].endswith("*007")
    published = {terms.url: terms for terms in terms_of_site(large_site)}
    assert len(published) >= MAX_RULES
    assert published["/open/*"].uses
    page = looked_up(large_site, "/open/a;x/b")
    assert (page.policy, page.is_open) == (None, False)


def test_a_url_with_the_most_readings_is_matched_with_a_site_at_its_limits(account: Account) -> None:
    patterns = [f"/{'*a' * MAX_WILDCARDS}{number:03}" for number in range(MAX_RULES - 1)]
    policy = factories.policy(account, factories.ALLOW_ALL)
    site = factories.site(account, dict.fromkeys([*patterns, "/*"], policy), host="pub.example", unknown="deny")
    page = looked_up(site, "/a;x/..;/b/%252e%252e/c")
    assert (page.facts["pattern"], page.policy.id) == ("/*", policy.pk)
