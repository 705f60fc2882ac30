"""A site's published terms promise other people's parsers no more than the service grants.

Random sites are published and asked about over HTTP. One reader matches URLs as RFC 9309 says. The published
client of the Open License Protocol (supertab-connect-sdk) reads license.xml in ways of its own. The gate
takes a few of the sites. All of them, with a report:

    EXAMPLES=all python3 run.py test --leg sqlite tests/edge/test_terms_agree_with_answers.py -s
"""

import os
import random
from collections import Counter
from importlib.util import find_spec

import pytest

from tests import factories
from tests.edge.documents import ROBOTS, RSL, get
from tests.edge.published import RSL as NAMESPACE
from tests.edge.published import granted, licenses_of, lines_of, may_fetch, most_specific, words_of
from tests.edge.random_sites import PATTERNS, SITE, USES, random_rules
from tests.examples import ALL

SITES = 200
PATHS = ["/", "/about", "/about/", "/about/team", "/about/team/b", "/premium", "/premium/", "/premium/x",
         "/premium/x/y", "/premiumx", "/news", "/news/", "/news/x", "/news/a.pdf", "/news/x/y.pdf", "/a.pdf",
         "/a.pdf/b", "/n", "/nx", "/pr", "/prx", "/feed/", "/other"]  # fmt: skip
TARGETS = [f"{path}{query}" for path in PATHS for query in ("", "?id=5", "?x=.pdf")]  # 69
NAMES_IN_RSL = {"search": "search", "ai_index": "ai-index", "ai_input": "ai-input", "ai_training": "ai-train"}


@pytest.fixture
def crawlers(crawler_table):
    """Know a crawler for each use, at 192.0.2.0/24."""
    rows = [
        {"name": use, "class": use, "operator": "O", "userAgent": f"{use}-bot", "addresses": ["192.0.2.0/24"]}
        for use in USES
    ]
    crawler_table(*rows)


@pytest.fixture
def sdk():
    if find_spec("supertab_connect") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("supertab-connect-sdk is not installed.")
    from supertab_connect.customer import token

    return token


@pytest.fixture(scope="module")
def report():
    """Count the statements that were read, and those of them that the service refuses."""
    counted = Counter()
    yield counted
    print(f"\n{SITES if ALL else 'Some'} sites, {len(TARGETS)} URLs:", dict(counted))


def publish(account, seed):
    """Publish a random site at pub.example."""
    chosen = random.Random(seed)
    policies = [None, *(factories.policy(account, *random_rules(chosen)) for _ in range(4))]
    rules = {pattern: chosen.choice(policies) for pattern in chosen.sample(PATTERNS, chosen.randint(1, 6))}
    by_pattern = {pattern.removesuffix("*"): (pattern, policy) for pattern, policy in rules.items()}
    unknown = chosen.choice(["allow", "deny"])
    factories.site(account, dict(by_pattern.values()), host="pub.example", mode="enforce", unknown=unknown)
    for path in chosen.sample(PATHS, chosen.choice([0, 0, 1, 3])):
        source = f"{SITE}{path}{chosen.choice(['', '?id=5'])}"
        factories.content(account, source=source, policy=chosen.choice(policies))


class ByRfc9309:
    """URLs with the uses that they state, as a parser of RFC 9309 reads them."""

    def __init__(self, stated):
        self.stated = stated

    def uses(self, target):
        return most_specific(self.stated, target) or set()


def free_uses_in_rsl(document):
    """Return the URLs of license.xml, each with the uses that need no payment."""
    stated = []
    for url, licenses in licenses_of(document):
        free = [terms for terms in licenses if terms.find(f"{NAMESPACE}payment") is None]
        permitted = set().union(*(words_of(terms, "permits") for terms in free))
        prohibited = set().union(*(words_of(terms, "prohibits") for terms in free))
        stated.append((url, permitted - prohibited))
    return stated


def uses_in_robots(document):
    """Return the paths of the Content-Usage lines, each with the uses that it permits."""
    stated = []
    for line in lines_of(document, "Content-Usage"):
        path, _, usage = line.partition(" ") if line.startswith("/") else ("", "", line)
        stated.append((path, granted(usage, "y")))
    return stated


class BySdk:
    """license.xml, as the SDK reads it."""

    def __init__(self, sdk, document):
        self.sdk, self.blocks = sdk, sdk._parse_content_elements(document.decode())

    def uses(self, target):
        """Return the uses for which it asks for no token, and those that the block it chooses permits for free."""
        url = f"{SITE}{target}"
        block = self.sdk._find_best_matching_content(self.blocks, url)
        is_free = block is not None and "payment" not in block.license_xml
        read = set()
        for use, name in NAMES_IN_RSL.items():
            needs_no_token = self.sdk._find_serverless_usage_content(self.blocks, url, name) is not None
            if needs_no_token or (is_free and self.sdk._license_permits_usage(block.license_xml, name)):
                read.add(use)
        return read


@pytest.mark.parametrize("seed", range(SITES if ALL else 8))
def test_nothing_is_read_that_the_service_refuses(account, ask, crawlers, sdk, report, settings, seed):
    settings.BASE_URL = "https://licensing.example"  # where the licence server is
    publish(account, seed)
    license_xml, robots_txt = get(RSL).content, get(ROBOTS).content
    readers = {"license.xml by RFC 9309": ByRfc9309(free_uses_in_rsl(license_xml)),
               "Content-Usage by RFC 9309": ByRfc9309(uses_in_robots(robots_txt)),
               "license.xml by the SDK": BySdk(sdk, license_xml)}  # fmt: skip
    robots = robots_txt.decode()
    answers = {}

    def is_allowed(target, use, address):
        question = target, use, address
        if question not in answers:
            answers[question] = ask(target, user_agent=f"{use}-bot/1.0", x_forwarded_for=address).status == 200
        return answers[question]

    wrong = []
    for place, target in enumerate(TARGETS):
        address = ("192.0.2.1", "203.0.113.9")[place % 2]  # of the crawler, or of somebody who claims to be it
        for name, reader in readers.items():
            for use in reader.uses(target):
                report[name] += 1
                if not is_allowed(target, use, address):
                    wrong.append((name, target, use))
        for use in USES:
            if not may_fetch(robots, f"{use}-bot", target):
                report["Disallow"] += 1
                if is_allowed(target, use, "192.0.2.1"):
                    wrong.append(("Disallow", target, use))
    report["asked"] += len(answers)
    report["refused"] += len(wrong)
    assert wrong == [], (license_xml.decode(), robots_txt.decode())
