import re

import pytest

from licensing.edge.crawlers import SHIPPED, parse_table
from licensing.edge.proxies.files import PROXY_KINDS, proxy_file
from tests import factories
from tests.documentation.blocks import block
from tests.documentation.tables import tables_of
from tests.faults.proxies.outages import TABLE, Row
from tests.faults.proxies.visitors import NEWS, SOLD, UNKNOWN, VISITORS, Visitor


def table(*header: str) -> list[list[str]]:
    """Return the cells of each row of the table whose header begins so."""
    first, *_ = header
    tables = tables_of("docs/reference/edge.md", first)
    [rows] = [rows for heading, *rows in tables if heading[: len(header)] == [*header]]
    return rows


def test_the_texts_to_replace_are_those_of_the_files():
    rows = table("`for`", "service's address instead of")
    printed = [[re.findall("`([^`]+)`", cell)[0] for cell in row] for row in rows]
    assert printed == [[name, kind.service, kind.origin, kind.key] for name, kind in PROXY_KINDS.items()]


def row(visitor: Visitor) -> list[str]:
    free, premium, unknown = (str(visitor.status(page)) for page in (NEWS, SOLD, UNKNOWN))
    decided_as = f"`{visitor.requester}`" + (f", elsewhere `{visitor.elsewhere}`" if visitor.elsewhere else "")
    shown = f", `{': '.join(visitor.shown)}`" if visitor.shown else ""
    return [visitor.name, decided_as, free, premium + shown, unknown]


def test_the_table_of_visitors_is_that_of_the_proxy_tests():
    assert table("visitor", "decided as") == list(map(row, VISITORS))


def test_the_rule_for_a_cdn_passes_on_every_known_crawler():
    rule = block("docs/reference/edge.md", "(lower(http.user_agent)")
    signs = re.findall('lower[(]http[.]user_agent[)] contains "([^"]+)"', rule)
    agents = [crawler.user_agent for crawler in parse_table(SHIPPED.read_bytes()).crawlers if crawler.user_agent]
    assert [agent for agent in agents if not any(sign in agent.lower() for sign in signs)] == []
    reader = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    assert not any(sign in reader.lower() for sign in signs)
    assert len(rule) < 4_096  # of a rule of Cloudflare


@pytest.mark.parametrize(
    ("path", "first", "host"),
    [
        ("docs/reference/edge.md", "proxy_cache_bypass", "pub.example"),
        ("docs/guides/wordpress.md", "fastcgi_cache_bypass", "blog.example"),
    ],
)
def test_the_maps_that_a_cache_in_front_uses_are_in_the_sites_file(path, first, host, account):
    file = proxy_file(factories.site(account, host=host), "nginx").content
    names = set(re.findall(r"[$]\w+", block(path, first))) - {"$http_cookie", "$wordpress_cookie"}
    assert len(names) == 2
    assert [name for name in names if f" {name} {{" not in file] == []


def test_only_wordpresss_own_cookies_keep_readers_from_the_cache_of_its_guide():
    [pages_of_their_own] = re.findall('"~([^"]+)" 1;', block("docs/guides/wordpress.md", "map $http_cookie"))
    for cookies, is_bypassed in {
        "_ga=GA1.2.3; licensing_visitor=abc; consent=yes": False,
        "_ga=GA1.2.3; wordpress_logged_in_5f=editor%7C1": True,
        "wp-postpass_5f=%24P%24B": True,
        "comment_author_5f=Anna; comment_author_email_5f=a%40b.example": True,
    }.items():
        assert bool(re.search(pages_of_their_own, cookies)) == is_bypassed, cookies


def outage(row: Row) -> list[str]:
    cells = [{True: "yes", False: "no", None: "–"}[cell] for cell in (row.open, row.metered, row.licensed)]
    return [row.site, row.visitor, *cells]


def test_the_table_of_outages_is_that_of_the_proxy_tests():
    assert table("site", "visitor", "open page") == list(map(outage, TABLE))
