import re
from hashlib import blake2b
from shutil import copytree

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kit.values.paths import read
from licensing.edge.crawlers import CRAWLERS, SHIPPED, parse_table
from licensing.edge.original import FREE_FOLDERS, FREE_PATHS, is_free_path
from licensing.edge.proxies.downloads import downloads_by_proxy, note_download, outdated_downloads
from licensing.edge.proxies.files import PROXY_KINDS, name_from_host, proxy_file
from licensing.edge.proxies.page_access import describe
from licensing.edge.proxies.paths import ASSET, FREE, closing, opening
from licensing.sites.models import Site
from licensing.sites.patterns import Pattern, pattern_error
from run import ROOT
from tests import factories
from tests.edge.asking import READERS
from tests.edge.refusals import DENY

PIECES = st.lists(st.sampled_from(["/", "a", "b.", ".", "-", "*", "ab", "%2e", "~", "\\"]), max_size=7)
PATTERNS = st.builds(lambda pieces, end: f"/{''.join(pieces)}{end}", PIECES, st.sampled_from(["", "$"])).filter(
    lambda text: pattern_error(text) is None
)
PATHS = st.lists(st.sampled_from(["/", "a", "b.", ".", "-", "ab", "x", "~"]), max_size=8).map(
    lambda pieces: f"/{''.join(pieces)}"
)


@st.composite
def patterns_and_pages(draw):
    """Draw a pattern, and a path that it may match."""
    text = draw(PATTERNS)
    path = text.removesuffix("$").replace("*", draw(st.sampled_from(["", "a", "b.", "x-", "a/b"])))
    return text, path + draw(st.sampled_from(["", "", "x", "/", "/b"]))


@given(patterns_and_pages())
@settings(deadline=None, suppress_health_check=list(HealthCheck))  # three of four pages do not match
def test_an_open_expression_matches_only_plain_pages_of_its_pattern(both):
    text, path = both
    pattern = Pattern.from_text(text)
    expression = opening(pattern)
    assume(expression is not None and re.fullmatch(expression, path))
    assert pattern.matches(path)
    assert list(read(path)[0]) == [path]


@given(patterns_and_pages() | st.tuples(PATTERNS, PATHS))
@settings(deadline=None, suppress_health_check=list(HealthCheck))
def test_a_closed_expression_matches_all_pages_of_its_pattern(both):
    text, path = both
    pattern = Pattern.from_text(text)
    assume(pattern.matches(path))
    expression = closing(pattern)
    assert expression is not None
    assert re.match(expression, path, re.IGNORECASE)


def test_usual_patterns_have_an_expression():
    for text in ["/", "/*", "/open/*", "/about", "/about$", "/a/*.html$", "/a/*/b", "/a*"]:
        assert opening(Pattern.from_text(text)) is not None
    every_page = opening(Pattern.from_text("/*"))
    for path in ("/%D8%AE%D8%A8%D8%B1", "/caf%c3%a9/a.html", "/%E0%A4%95", "/%E6%97%A5%E6%9C%AC"):
        assert re.fullmatch(every_page, path)
    for path in ("/%2e%2e", "/%C0%AE", "/%E0%80%AE", "/%EF%BC%8F", "/%25", "/a%3Bb", "/%C3", "/%5C"):
        assert not re.fullmatch(every_page, path)
    assert re.match(closing(Pattern.from_text("/ü/secret")), "/%C3%BC/secret", re.IGNORECASE)


@pytest.mark.parametrize("file", [*(kind.file for kind in PROXY_KINDS.values()), "worker.js"])
def test_each_file_names_the_free_paths_assets_and_crawlers_by_the_same_expressions(file):
    text = (ROOT / "deploy" / "edge" / file).read_text()
    assert FREE in text
    assert ASSET in text
    assert CRAWLERS in text


def test_the_expression_of_crawlers_matches_every_known_one_and_no_reader():
    agents = [crawler.user_agent for crawler in parse_table(SHIPPED.read_bytes()).crawlers if crawler.user_agent]
    assert [agent for agent in agents if not re.search(CRAWLERS, agent.lower())] == []
    assert f"preg_match('~{CRAWLERS}~i'" in (ROOT / "docs" / "guides" / "wordpress.md").read_text()
    reader = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
    assert not re.search(CRAWLERS, reader.lower())


def test_the_expression_of_free_paths_matches_those_that_the_service_opens():
    free = [
        *sorted(FREE_PATHS - {"/license.xml"}), *(f"{folder}a-b/c.xml" for folder in FREE_FOLDERS),
        "/sitemap.xml", "/sitemap-1.xml", "/wp-sitemap-posts-post-1.xml", "/news-sitemap.xml",
    ]  # fmt: skip
    for path in free:
        assert re.fullmatch(FREE, path)
        assert is_free_path(path)
    for path in ("/license.xml", "/robots.txt/a", "/a/sitemap.xml", "/.well-known/../a", "/sitemaps/.a", "/ads.txt;a"):
        assert not re.fullmatch(FREE, path)


@pytest.mark.parametrize("proxy", PROXY_KINDS)
def test_the_file_has_the_sites_host_and_a_placeholder_for_the_key(api, account, proxy):
    site = factories.site(account, {"/about": factories.policy(account, READERS)}, host="news.example", unknown="deny")
    file = api.get(f"/v1/sites/{site.pk}/proxy-config?for={proxy}")
    assert "news.example" in file["content"]
    assert "pub.example" not in file["content"]
    assert proxy == "traefik" or "For example" not in file["content"]
    assert "svc_sk_PUT-THE-KEY-HERE" in file["content"] or "{env.LICENSING_KEY}" in file["content"]
    told = file["openPatterns"] or [one["pattern"] for one in file["omitted"]]
    assert told == ["/about"]


@pytest.mark.parametrize("proxy", PROXY_KINDS)
def test_a_site_without_an_open_page_has_a_file_and_can_be_changed(api, account, proxy):
    site = factories.site(account, {"/premium/": factories.policy(account, DENY)}, unknown="deny", mode="observe")
    address = f"/v1/sites/{site.pk}/proxy-config?for={proxy}"
    open_to_all = api.get(address)["content"]
    assert api.patch(f"/v1/sites/{site.pk}", {"mode": "enforce"}).status == 200
    closed = api.get(address)
    assert (closed["openPatterns"], closed["content"] != open_to_all) == ([], True)


def test_open_patterns_leave_out_priced_limited_licensed_and_denied_pages(api, account):
    priced = {**READERS, "pricePerAccess": {"amount": "1", "currency": "USD"}}
    limited = {**READERS, "rateLimit": {"requests": 1, "period": "day"}}
    licensed = {**READERS, "conditions": {"hasValidLicense": True}}
    rules = {f"/{name}/": factories.policy(account, rule) for name, rule in
             {"a": priced, "b": limited, "c": licensed, "d": DENY, "open": READERS}.items()}  # fmt: skip
    site = factories.site(account, rules)
    assert api.get(f"/v1/sites/{site.pk}/proxy-config?for=nginx")["openPatterns"] == ["/open/", "/b/", "/*"]


def test_open_pages_are_refused_to_crawlers_whose_use_they_do_not_allow_to_everybody(account):
    reads = {**READERS, "conditions": {"permission": ["read", "search"]}, "permissions": ["read", "search"]}
    uses = {"permission": ["ai_training", "ai_input"], "hasValidLicense": True}
    sells = {**READERS, "conditions": uses, "pricePerAccess": {"amount": "1", "currency": "USD"}}
    policy = factories.policy(account, reads, {**sells, "permissions": ["ai_training", "ai_input"]})
    refused = describe(factories.site(account, {"/sold/": policy})).refused_crawlers
    assert {"GPTBot", "ChatGPT Agent", "archive.org_bot"} <= {*refused}
    assert "Googlebot" not in refused
    everything = factories.policy(account, {**READERS, "permissions": ["full_access"]})
    site = factories.site(account, {"/open/": everything, "/": None}, unknown="allow")
    assert describe(site).refused_crawlers == []


def test_restricted_asset_folders_are_asked_about(api, account):
    site = factories.site(account, {"/assets/": factories.policy(account, DENY)})
    content = api.get(f"/v1/sites/{site.pk}/proxy-config?for=nginx")["content"]
    assert "^/(static)(/" in content


def test_another_proxy_and_another_accounts_site_are_refused(api, account, other_account):
    for query in ["", "?for=", "?for=apache", "?for=../nginx"]:
        assert api.get(f"/v1/sites/{factories.site(account).pk}/proxy-config{query}").status_and_param == (400, "for")
    assert api.get(f"/v1/sites/{factories.site(other_account).pk}/proxy-config?for=nginx").status == 404


def access(site):
    """Return the default of a site's pages, and the access of each of its patterns that the file names."""
    description = describe(site)
    return description.default, [entry.access for entry in description.entries if entry.is_whole]


def test_a_site_that_enforces_closes_only_what_people_need_something_for(account):
    limited = {**READERS, "rateLimit": {"requests": 5, "period": "month"}}
    licensed = {**READERS, "conditions": {"hasValidLicense": True}}
    policies = {"/metered/": limited, "/sold/": licensed, "/open/": READERS}
    rules = {pattern: factories.policy(account, rule) for pattern, rule in policies.items()}
    assert access(factories.site(account, rules, unknown="allow")) == ("closed", ["ask", "open", "open"])
    site = factories.site(account, rules, unknown="deny", host="other.example")
    assert access(site) == ("closed", ["ask", "open"])
    site.ask = "everyone"
    assert access(site) == ("closed", ["ask", "ask"])


def test_a_site_or_policy_that_refuses_nobody_closes_no_page(account):
    for mode in ["observe", "disabled"]:
        rules = {"/open/": factories.policy(account, READERS), "/sold/": factories.policy(account, DENY)}
        site = factories.site(account, rules, unknown="deny", mode=mode)
        assert access(site) == ("ask", ["open"])
        assert (describe(site).refused_crawlers, describe(site).omitted) == ([], [])
    policy = factories.policy(account, DENY, mode="observe")
    assert access(factories.site(account, {"/sold/": policy}, unknown="deny")) == ("closed", ["ask"])


def test_items_that_are_archived_or_have_no_policy_are_closed_where_unknown_pages_are_open(account):
    reads = factories.policy(account, READERS)
    site = factories.site(account, {"/news/": reads}, unknown="allow")
    for name, policy, status in [("a", reads, "active"), ("b", reads, "archived"), ("c", None, "active")]:
        source = f"https://{site.host}/news/{name}"
        factories.content(account, source=source, policy_id=policy and policy.pk, status=status)
    closed = [entry.expression for entry in describe(site).entries if entry.access == "closed"]
    assert sorted(closed) == ["/news/b", "/news/c"]


def test_downloads_for_two_proxies_at_once_are_both_remembered(account):
    site = factories.site(account)
    same_site = Site.objects.get(pk=site.pk)
    for read_before, proxy in ((site, "nginx"), (same_site, "caddy"), (same_site, "nginx")):
        note_download(read_before, proxy, f"made for {proxy}")
    site.refresh_from_db()
    digests = {proxy: download.digest for proxy, download in downloads_by_proxy(site).items()}
    assert digests == {"nginx": "made for nginx", "caddy": "made for caddy"}
    site.delete()
    note_download(same_site, "nginx", "made for none")


def test_a_file_is_outdated_once_a_policy_or_an_item_restricts_one_of_its_open_pages(api, account):
    policy = factories.policy(account, READERS)
    site = factories.site(account, {"/news/": policy}, unknown="deny")
    address = f"/v1/sites/{site.pk}"

    def is_outdated():
        return api.patch(address, {"name": "Pub"}).body.get("proxyFileChanged", False)

    def fetch(proxy="nginx"):
        assert api.get(f"{address}/proxy-config?for={proxy}").status == 200

    assert not is_outdated()
    fetch()
    assert not is_outdated()
    assert api.patch(f"/v1/policies/{policy.pk}", {"mode": "observe"}).status == 200
    assert is_outdated()
    fetch()
    assert not is_outdated()
    deny = factories.policy(account, DENY)
    item = {"title": "Sold", "type": "article", "source": f"https://{site.host}/news/sold", "policyId": deny.pk}
    assert api.post("/v1/content", item).status == 201
    assert is_outdated()
    fetch()
    item = {**item, "source": f"https://{site.host}/sold/"}  # where the file opens nothing
    assert api.post("/v1/content", item).status == 201
    assert not is_outdated()
    assert api.patch(f"/v1/policies/{policy.pk}", {"mode": "enforce"}).status == 200
    fetch("caddy")
    assert is_outdated()  # nginx still has the old file


def test_a_file_is_outdated_once_a_new_version_of_the_service_writes_another_one(api, account, settings, tmp_path):
    site = factories.site(account)
    copytree(ROOT / "deploy" / "edge", tmp_path / "deploy" / "edge")
    settings.BASE_DIR = tmp_path
    for proxy in ["nginx", "caddy"]:
        api.get(f"/v1/sites/{site.pk}/proxy-config?for={proxy}")
    site.refresh_from_db()
    assert outdated_downloads(site) == {}
    with (tmp_path / "deploy" / "edge" / "nginx.conf").open("a") as shipped:
        shipped.write("# mended\n")
    assert list(outdated_downloads(site)) == ["nginx"]


DEFINITION = re.compile(r"(?m)^(?:map .*(\$\w+) \{|upstream (\w+) \{|proxy_cache_path (\S+) .*keys_zone=(\w+):)")
# The number in the names of the maps that all sites share, and their digest.
NUMBER, DIGEST = 2, "9685d375e01b185f"


def definitions(site):
    """Return what the site's file for nginx defines in the http block, by name, without comments."""
    content = re.sub(r"(?m)^ *#.*\n", "", proxy_file(site, "nginx").content)
    parts = re.split(r"\n(?=map |upstream |proxy_cache_path |server )", content)
    return {name: part.strip() for part in parts for found in DEFINITION.findall(part) for name in found if name}


def test_an_old_file_changes_nothing_of_the_new_one_of_another_site(account):
    """nginx lets the last definition of a variable count for all files: a changed map needs another name."""
    first = definitions(factories.site(account, host="a.example"))
    second = definitions(factories.site(account, host="an-even-longer-name.of-a-host.example"))
    shared = {name: text for name, text in first.items() if name in second}
    assert all(second[name] == text for name, text in shared.items())
    assert {name for name in shared if not re.fullmatch(rf"\$edge_[a-z_]+_{NUMBER}", name)} == set()
    digest = blake2b("\n".join(shared.values()).encode(), digest_size=8).hexdigest()
    assert digest == DIGEST, "Maps have changed: raise the number in the names of all of them, and NUMBER."
    assert (len(shared), len(first)) == (15, len(second))
    assert max(len(name) for name in second if name.startswith("$")) <= 47  # variables_hash_bucket_size


def test_the_names_in_a_file_are_those_of_one_host():
    hosts = ["a.b.example", "a-b.example", "a_b.example", "a__b.example", "a-.b.example", f"{'a' * 40}.example"]
    assert len({name_from_host(host) for host in hosts}) == len(hosts)
    assert name_from_host("a.b.example") == "a_b_example"
