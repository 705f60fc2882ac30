import re
from collections import Counter
from collections.abc import Iterator

import pytest

from kit.outbound.destinations import DestinationRefused, check_url
from licensing.crawler_classes import ADMITTED_BY_NAME, AUDIENCES, CLASSES
from licensing.edge.crawlers import SHIPPED, Crawler, parse_table
from run import ROOT

TEXT = SHIPPED.read_text()
TABLE = parse_table(TEXT.encode())
OPTIONAL = {
    "userAgent": "user_agent",
    "robotsToken": "robots_token",
    "addressLists": "address_lists",
    "hosts": "hosts",
    "signatureAgent": "signature_agent",
}


def stated_facts(crawler: Crawler) -> set[str]:
    return {"operator", "class", *(fact for fact, field in OPTIONAL.items() if getattr(crawler, field))}


CUSTOMERS_HOSTS = ("googleusercontent.com", "amazonaws.com", "azure.com")  # where anybody can rent an address


def faults(crawler: Crawler) -> Iterator[str]:
    """Yield what is wrong with a row of the table."""
    evidence = {fact for source in crawler.evidence for fact in source.facts}
    if evidence != stated_facts(crawler):
        yield f"facts and sources differ: {evidence ^ stated_facts(crawler)}"
    if f'"name": "{crawler.name}", "class": "{crawler.crawler_class}", "kind": "{crawler.kind}"' not in TEXT:
        yield "it does not say whether it is a crawler or a fetcher"
    if any(source.date > TABLE.date for source in crawler.evidence):
        yield "a source is newer than the table"
    if not crawler.operator or crawler.operator != crawler.operator.strip():
        yield f"operator {crawler.operator!r}"
    if not re.fullmatch(r"[a-z0-9._-]+", crawler.key):
        yield f"requester {crawler.key!r}"
    if crawler.user_agent is None:
        if crawler.product_token is None:
            yield "neither a User-Agent nor a token for robots.txt"
    elif TABLE.claimed_by(f"Mozilla/5.0 (compatible; {crawler.user_agent}/1.0; +https://bot.example/)") is not crawler:
        yield "a User-Agent with its token claims another crawler"
    if any(host.endswith(CUSTOMERS_HOSTS) for host in crawler.hosts):
        yield "its hosts are those of its operator's customers"
    for url in crawler.all_sources:
        try:
            check_url(url)
        except DestinationRefused as error:
            yield f"{url}: {error}"


def test_each_row_is_complete_and_each_of_its_facts_has_a_source():
    assert {crawler.key: found for crawler in TABLE.crawlers if (found := list(faults(crawler)))} == {}


def test_the_table_knows_the_crawlers_of_every_class():
    classes = Counter(one.crawler_class for one in TABLE.crawlers)
    assert sum(classes.values()) >= 60
    assert classes.keys() >= {"ai_training", "ai_input", "ai_index", "search", "archive", "preview", "ads", "other"}
    assert classes.keys() <= CLASSES.keys()
    tokens = [(one.robots_token, one.crawler_class) for one in TABLE.crawlers if one.user_agent is None]
    assert {("Google-Extended", "ai_training"), ("Applebot-Extended", "ai_training")} <= set(tokens)
    agents = [one.signature_agent for one in TABLE.crawlers if one.signature_agent]
    assert len(agents) == len(set(agents)) > 0
    for browser in [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 [Pinterest/iOS]",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 Chrome/109.0 Safari/537.36 SE 2.X MetaSr 1.0",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/109.0 Mobile Safari/537.36 SogouMobileBrowser/6.8",
        "Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 coc_coc_browser/120.0 Chrome/114.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/142.0 YaBrowser/25.1 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Version/4.0 Chrome/142.0 [FBAN/FB4A;FBAV/500.0;]",
        "Mozilla/5.0 (Macintosh) AppleWebKit/537.36 DuckDuckGo/7 Safari/605.1.15",
    ]:
        assert TABLE.claimed_by(browser) is None


def test_a_class_is_known_everywhere():
    classes = {"ai_training", "ai_input", "ai_index", "search", "archive", "preview", "ads", "other"}
    assert CLASSES.keys() >= classes
    described = AUDIENCES.keys() | ADMITTED_BY_NAME | {"other"}
    assert described == CLASSES.keys() | {"read"}, "Give it an `audience`, or let a rule that names it admit it."
    page = (ROOT / "docs" / "reference" / "edge.md").read_text()
    assert [name for name in CLASSES if f"\n| `{name}` |" not in page] == []
    colours = (ROOT / "operators" / "static" / "operators" / "overview.css").read_text()
    assert [name for name, row in CLASSES.items() if f".overview i.{row.colour} {{" not in colours] == []


def test_a_row_of_an_unknown_class_is_refused_with_the_known_ones():
    row = b'{"date": "2026-12-01", "crawlers": [{"name": "N", "class": "sea", "operator": "N", "userAgent": "Nbot"}]}'
    with pytest.raises(ValueError, match=r"Unknown class 'sea'. Classes: ai_training, .*, other. - at `\$.crawlers"):
        parse_table(row)


def test_a_row_without_any_token_is_refused():
    row = b'{"date": "2026-12-01", "crawlers": [{"name": "Nobody", "class": "search", "operator": "N"}]}'
    with pytest.raises(ValueError, match="Nobody has neither userAgent nor robotsToken"):
        parse_table(row)
