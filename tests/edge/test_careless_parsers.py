import random
import re
from xml.etree import ElementTree

import pytest

from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.terms import terms_of
from licensing.policies.decision import judge
from licensing.policies.facts import Facts
from licensing.sites.identification import Identification
from tests.edge.documents import moment
from tests.edge.published import RSL, policies_at, read_prices, read_rsl, words_of
from tests.edge.random_sites import POLICIES, SITE, TARGETS, random_site


def score(pattern: str, path: str) -> int:
    """Return how well a pattern without its query matches a path without its query; -1 if it does not."""
    text = pattern.partition("?")[0]
    is_anchored, text = text.endswith("$"), text.removesuffix("$")
    expression = re.escape(text).replace(r"\*", ".*")
    if is_anchored:
        expression += "$"
    elif "*" not in text and text != "/":
        expression += "(/|$)"
    return len(text.replace("*", "")) if re.match(expression, path) else -1


def read_carelessly(document: bytes, target: str) -> set[str]:
    """Return the uses that a careless parser reads for a page: of equally good patterns, those of the first."""
    best, found = -1, set[str]()
    for content in ElementTree.fromstring(document):  # noqa: S314 - our own
        matched = score(content.attrib["url"].removeprefix(SITE), target.partition("?")[0])
        if matched > best:
            free = [one for one in content.findall(f"{RSL}license") if one.find(f"{RSL}payment") is None]
            best, found = matched, set().union(*(words_of(one, "permits") for one in free))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_what_a_careless_parser_reads_the_service_allows(seed):
    chosen = random.Random(seed)
    found, permitted = [], 0
    for _ in range(60):
        rules, items, denies_unknown = random_site(chosen)
        terms = terms_of(rules, items, denies_unknown=denies_unknown)
        document = write_documents(Publication("pub.example", terms, "Example Media")).get("/license.xml")
        for target in TARGETS if document else ():
            for use in read_carelessly(document, target):
                permitted += 1
                facts = Facts(moment(1), "anonymous", use, identified_by=Identification.NOTHING)
                if not all(one is not None and judge(one, facts).allowed for one in policies_at(rules, items, target)):
                    found.append((rules, items, denies_unknown, target, use))
    assert found == []
    assert permitted > 300


def test_a_site_with_an_open_front_page_and_sold_articles_stays_readable():
    rules = [("/$", POLICIES[0]), ("/about/", POLICIES[0]), ("/premium/", POLICIES[3]), ("/terms$", POLICIES[0])]
    terms = terms_of(rules, denies_unknown=True)
    document = write_documents(Publication("pub.example", terms, "Example Media"))["/license.xml"]
    uses = {"search", "ai_index", "ai_input", "ai_training"}
    assert read_rsl(document, "/") == read_rsl(document, "/?utm=1") == uses
    assert read_carelessly(document, "/about/team") == read_rsl(document, "/about/team") == uses
    assert read_carelessly(document, "/terms") == read_rsl(document, "/terms?x=1") == uses
    for closed in ("/premium/x", "/news/scoop", "/feed/", "/terms/x"):
        assert (
            read_carelessly(document, closed) == read_rsl(document, closed) == read_prices(document, closed) == set()
        )


def test_only_entries_that_refuse_a_use_or_overlap_one_that_does_name_the_licence_server():
    terms = terms_of([("/about/", POLICIES[0]), ("/premium/", POLICIES[3]), ("/premium/free/", POLICIES[0])])
    server = "https://licensing.example/olp"
    document = write_documents(Publication("pub.example", terms, "Example Media", server))["/license.xml"]
    entries = [content.attrib for content in ElementTree.fromstring(document)]  # noqa: S314 - our own
    named = {entry["url"].removeprefix(SITE): entry.get("server") for entry in entries}
    assert named == {"/about/*": None, "/premium/*": server, "/premium/free/*": server}
