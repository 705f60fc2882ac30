"""The built-in crawler table: complete rows, each fact with a source and a date."""

import re
from collections import Counter

import pytest

from kit.outbound.destinations import check_url
from licensing.edge.crawlers import SHIPPED, Crawler, parse_table

TABLE = parse_table(SHIPPED.read_bytes())
OPTIONAL = {"addressLists": "address_lists", "hosts": "hosts", "signatureAgent": "signature_agent"}


def stated_facts(crawler: Crawler) -> set[str]:
    return {"operator", "class", "userAgent", *(fact for fact, field in OPTIONAL.items() if getattr(crawler, field))}


@pytest.fixture(params=TABLE.crawlers, ids=lambda one: one.key)
def crawler(request) -> Crawler:
    return request.param


def test_each_fact_has_a_source_and_no_source_states_more(crawler):
    assert {fact for one in crawler.evidence for fact in one.facts} == stated_facts(crawler)


def test_no_source_is_newer_than_the_table(crawler):
    assert all(one.date <= TABLE.date for one in crawler.evidence)


def test_sources_and_lists_can_be_fetched_by_the_guarded_client(crawler):
    for url in crawler.all_sources:
        check_url(url)


def test_a_row_names_operator_and_requester_without_spaces_around(crawler):
    assert crawler.operator == crawler.operator.strip() != ""
    assert re.fullmatch(r"[a-z0-9._-]+", crawler.key)


def test_a_user_agent_with_the_token_claims_the_crawler(crawler):
    user_agent = f"Mozilla/5.0 (compatible; {crawler.user_agent}/1.0; +https://bot.example/)"
    assert TABLE.claimed_by(user_agent) is crawler


def test_domains_belong_to_operators_rather_than_to_their_customers(crawler):
    assert not any(host.endswith(("googleusercontent.com", "amazonaws.com", "azure.com")) for host in crawler.hosts)


def test_the_table_knows_the_crawlers_of_every_class():
    classes = Counter(one.crawler_class for one in TABLE.crawlers)
    assert sum(classes.values()) >= 60
    assert classes.keys() == {"ai_training", "ai_input", "search", "archive", "other"}


def test_a_signing_host_names_one_crawler():
    agents = [one.signature_agent for one in TABLE.crawlers if one.signature_agent]
    assert len(agents) == len(set(agents)) > 0


@pytest.mark.parametrize(
    "browser",
    [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 [Pinterest/iOS]",
        "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 Chrome/109.0 Safari/537.36 SE 2.X MetaSr 1.0",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/109.0 Mobile Safari/537.36 SogouMobileBrowser/6.8",
        "Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 coc_coc_browser/120.0 Chrome/114.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/142.0 YaBrowser/25.1 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Version/4.0 Chrome/142.0 [FBAN/FB4A;FBAV/500.0;]",
        "Mozilla/5.0 (Macintosh) AppleWebKit/537.36 DuckDuckGo/7 Safari/605.1.15",
    ],
)
def test_a_persons_browser_claims_no_crawler(browser):
    assert TABLE.claimed_by(browser) is None
