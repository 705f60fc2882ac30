import itertools
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx
import pytest
from content_access_licensing import Client

from licensing.visits.robots_parser import RobotsTxt
from tests.clients.wordpress import HOST, SECRET, WordPress, log_in, wordpress
from tests.clients.wordpress.blog import *  # noqa: F403 - the fixtures
from tests.clients.wordpress.blog import newest_charge, opened
from tests.faults.harness import eventually
from tests.services import free_port

BROWSER = {"Accept": "text/html,*/*;q=0.8"}
OTHERS = """
    /premium/premium-post/2/ /premium/premium-post/feed/ /premium/premium-post?x /PREMIUM/premium-post/
    /index.php/premium/premium-post/ //premium/premium-post/ /free/premium-post/ /free/../premium/premium-post/
    /?p=%(number)s /?p=%(number)s&feed=rss2&withoutcomments=1 /?p=%(number)s&page=2 /?cat=%(category)s
    /?feed=rss2 /feed/ /feed/atom/ /category/premium/ /category/premium/feed/ /?author=1 /author/ada/
    /?s=sold /?s=%(secret)s&feed=rss2 /?m=2026 /?paged=1&feed=rss2 /comments/feed/ /?name=premium-post
    /wp-json/wp/v2/posts /wp-json/wp/v2/posts/%(number)s /wp-json/wp/v2/search?search=sold
    /?rest_route=/wp/v2/posts /?rest_route=/wp/v2/posts/%(number)s /?rest_route=/wp/v2/posts/%(number)s/
    /?rest_route=/wp/v2//posts/%(number)s /?embed=1&name=premium-post /premium/premium-post/embed/
    /?category_name=premium&feed=rss2 /?attachment_id=%(number)s /?page_id=%(number)s /?post_type=post&p=%(number)s
    /free/free-post/?p=%(number)s /free/free-post/?name=premium-post
    /free/free-post/?rest_route=/wp/v2/posts/%(number)s
    /?m=2026&feed=rss2&s= /?w=%(week)s&feed=rss2&s= /feed/?w=%(week)s /?author=1,2&feed=rss2&s=
    /?cat=%(free)s,%(category)s&feed=rss2&s= /category/free,premium/feed/
    /free/anything/?feed=rss2&name=&category_name=&s= /free/feed/?category_name=&name=&s=
    /free/anything/feed/?name=&category_name= /category/free/feed/?category_name=&s=
    /about/?name=premium-post&preview=true /?pagename=about&name=premium-post&preview=true
    /about/?p=%(number)s&preview=true /about/feed/?name=premium-post&withoutcomments=1
    /about/?study=s1 /about/embed/?study=s1 /about/feed/?study=s1&withoutcomments=1 /study/s1/ /?study=s1
    /about/?post_type=study&name=s1 /?post_type=study /?post_type=study&feed=rss2 /about/?memo=m1 /?post_type=memo
    /about/?memo=m1&feed=rss2&withoutcomments=1 /?memo=m1 /?memo=m1&feed=rss2&withoutcomments=1 /?p=%(memo)s
    /wp-json/wp/v2/memo/%(memo)s /?plain=1&p=%(number)s /?plain=1&name=premium-post /?plain=1&cat=%(category)s
    /?plain=1&p=%(number)s&feed=rss2&withoutcomments=1 /?plain=1&rest_route=/wp/v2/posts/%(number)s
    /category/free/?name=premium-post&preview=true /feed/?name=premium-post&withoutcomments=1
    /about/?static=1&pagename= /premium/premium-post/?lang=de /premium/premium-post/feed/?lang=de&withoutcomments=1
    /about/?blog=1&page_id=%(number)s /about/?blog=1&p=%(number)s /about/?blog=1&name=premium-post
    /about/?blog=1&attachment_id=%(number)s /about/?blog=1&page_id=%(number)s&feed=rss2&withoutcomments=1
    /?plain=1&rest_route=/wp/v2/posts /?plain=1&feed=rss2 /?plain=1&study=s1 /?plain=1&s=sold
    /?sitemap=none&p=%(number)s /premium/premium-post/?print=wp /premium/premium-post/?print=template_redirect
    /premium/none/?print=wp /premium/none/?print=template_redirect /premium/premium-post/3/?feed=rss2&withoutcomments=1
"""


def test_people_read_what_is_free_and_licensees_what_is_sold(visit: httpx.Client):
    free = visit.get("/free/free-post/")
    assert (free.status_code, "Everybody reads this." in free.text) == (200, True)
    assert free.headers["X-Seen"] == "anonymous,"
    assert 'rel="license"' in free.headers["Link"]
    assert visit.get("/").status_code == 200
    sold = visit.get("/premium/premium-post/?subscriber=org_acme")
    assert (sold.status_code, SECRET in sold.text, sold.headers["X-Seen"]) == (200, True, "org_acme,")


def test_pages_that_open_by_a_licence_are_private_and_free_ones_are_not(
    visit: httpx.Client, client: Client, site: str
):
    def caches(*paths: str) -> list[str]:
        pages = [visit.get(path, params={"subscriber": "org_acme"}) for path in paths]
        assert [page.status_code for page in pages] == [200] * len(paths)
        found = [page.headers.get("Cache-Control", "").partition(",")[0] for page in pages]
        plugins = ["bypass" if name == "private" else "store" for name in found]
        assert [page.headers["X-Page-Cache"] for page in pages] == plugins
        return found

    assert caches("/premium/premium-post/", "/premium/premium-post/feed/") == ["private"] * 2
    feed, rules = "/free/free-post/feed/", client.get_site(site)["rules"]
    assert "private" not in caches("/", "/free/free-post/", feed)
    sold = next(rule["policyId"] for rule in rules if rule["pattern"] == "/premium/*")
    client.update_site(site, {"rules": [*rules, {"pattern": feed, "policyId": sold}]})
    assert caches(feed, "/free/free-post/") == ["private", ""]
    client.update_site(site, {"rules": rules})


def test_people_who_are_refused_get_a_page_and_programs_get_json(visit: httpx.Client):
    page = visit.get("/premium/premium-post/", headers=BROWSER)
    assert (page.status_code, page.headers["Content-Type"].lower()) == (402, "text/html; charset=utf-8")
    assert "<h1" in page.text
    assert "The Daily" in page.text
    assert "Buy a licence." in page.text
    assert (SECRET in page.text, page.headers["Cache-Control"]) == (False, "no-store")
    assert page.headers["X-Page-Cache"] == "bypass"
    refused = visit.get("/premium/premium-post/", headers={"User-Agent": "GPTBot/1.3"})
    assert (refused.status_code, refused.headers["crawler-price"]) == (402, "USD 0.015")
    assert refused.json()["error"]["code"] == "no_license"
    assert visit.head("/premium/premium-post/").content == b""


def other_urls(blog: WordPress) -> list[str]:
    """Return URLs at which WordPress might show what is sold."""
    number, category, free = blog.posts["premium"], blog.posts["premium-category"], blog.posts["free-category"]
    week = datetime.now(UTC).isocalendar().week
    known = {"number": number, "category": category, "free": free, "memo": blog.posts["m1"]}
    known |= {"secret": SECRET, "week": week}
    return [path % known for path in OTHERS.split()]


def test_no_other_url_shows_what_is_sold(visit: httpx.Client, blog: WordPress):
    number, category, free = blog.posts["premium"], blog.posts["premium-category"], blog.posts["free-category"]
    for path in other_urls(blog):
        for method in ("GET", "POST"):  # WordPress redirects GET only
            reply = visit.request(method, path, follow_redirects=False)
            assert (method, path, SECRET in reply.text) == (method, path, False)
    several = visit.post("/", data={"cat": f"{free},{category}", "feed": "rss2"})
    assert (several.status_code, SECRET in several.text) == (403, False)
    form = visit.post("/about/", data={"name": "premium-post"})
    assert (form.status_code, SECRET in form.text) == (402, False)
    batch = {"requests": [{"path": f"/wp/v2/posts/{number}", "method": "GET"}]}
    assert SECRET not in visit.post("/wp-json/batch/v1", json=batch).text
    assert visit.get(f"/wp-json/wp/v2/posts/{number}?_envelope=1").status_code == 402
    assert visit.get(f"/wp-json/wp/v2/posts/{number}").status_code == 402
    open_post = visit.get(f"/wp-json/wp/v2/posts/{blog.posts['free']}")
    assert (open_post.status_code, open_post.headers["Link"].count('rel="license"')) == (200, 1)
    assert visit.get(f"/wp-json/wp/v2/categories/{blog.posts['free']}").status_code == 403
    assert visit.get("/wp-json/wp/v2/posts").status_code == 403
    assert visit.get("/category/free/").status_code == 200
    assert visit.get("/category/free/?post_type=study").status_code == 403
    assert visit.get(f"/wp-json/WP/v2/Posts/{number}").status_code == 402


def test_a_page_is_shown_whatever_its_query(visit: httpx.Client):
    for path in ("/about/", "/about/?utm_source=mail", "/about/?cat=1"):
        reply = visit.get(path)
        assert (path, reply.status_code, "about us" in reply.text) == (path, 200, True)
    assert visit.get("/free/free-post/?lang=de").status_code == 200
    assert SECRET in visit.get("/about/?name=premium-post&preview=true&subscriber=org_acme").text


def test_a_page_whose_permalink_has_no_path_is_closed_and_the_admin_says_why(
    visit: httpx.Client, blog: WordPress, client: Client, site: str
):
    number = blog.posts["free"]
    pages = ("/?memo=m1", f"/?plain=1&p={number}", f"/?plain=1&rest_route=/wp/v2/posts/{number}")
    for path in pages:
        assert (path, visit.get(path).status_code) == (path, 403)
    assert visit.get("/?plain=1").status_code == 200
    client.update_site(site, {"mode": "observe"})
    try:
        for path in pages:
            reply = visit.get(path)
            # The service recorded the front page, so its terms are not this page's.
            assert (path, reply.status_code, 'rel="license"' in reply.headers["Link"]) == (path, 200, False)
    finally:
        client.update_site(site, {"mode": "enforce"})
    log_in(visit)
    assert "permalinks have no path (rewrite is false): memo." in visit.get("/wp-admin/edit.php").text
    assert "needs pretty permalinks" in visit.get("/wp-admin/edit.php?plain=1").text
    assert "Before you change the permalinks, add patterns" in visit.get("/wp-admin/options-permalink.php").text


def test_a_post_decides_about_its_feed_too(visit: httpx.Client, client: Client, site: str):
    with opened(client, site, "/premium/premium-post/feed/"):
        feed = "/premium/premium-post/feed/?withoutcomments=1"
        assert visit.get(feed).status_code == 402
        last = next(client.list_decisions({"siteId": site}))["id"]
        assert SECRET in visit.get(f"{feed}&subscriber=org_metered").text
        assert newest_charge(client) == Decimal("0.05")
        own, before = itertools.islice(client.list_decisions({"siteId": site}), 2)
        assert (own["url"], before["id"]) == (f"https://{HOST}/premium/premium-post/", last)


def test_a_pattern_opens_the_feed_of_the_site_in_every_format(visit: httpx.Client, client: Client, site: str):
    with opened(client, site, "/feed/$"):
        for path in ("/feed/", "/feed/atom/", "/feed/?page=2"):
            assert (path, visit.get(path, follow_redirects=False).status_code) == (path, 200)


def test_the_pattern_of_the_search_opens_no_feed(visit: httpx.Client, blog: WordPress, client: Client, site: str):
    several = f"{blog.posts['free-category']},{blog.posts['premium-category']}"
    found = ["/?s=sold&feed=rss2", "/search/sold/feed/", f"/?feed=rss2&cat={several}", "/?feed=atom&post_type=post"]
    with opened(client, site, "/search/"):
        assert visit.get("/?s=sold").status_code == 200
        for path in found:
            reply = visit.post(path)  # WordPress redirects GET
            assert (path, reply.status_code, SECRET in reply.text) == (path, 403, False)
    with opened(client, site, "/search/", "/feed/"):
        for path in found:
            assert (path, visit.post(path).status_code) == (path, 200)


def test_the_feed_of_a_date_is_decided_as_that_of_its_archive(visit: httpx.Client, client: Client, site: str):
    today = datetime.now(UTC)
    for query, path in ((f"{today:%Y}", f"{today:/%Y/}"), (f"{today:%Y%m}1", f"{today:/%Y/%m/}")):
        visit.post(f"/?feed=rss2&m={query}")
        assert next(client.list_decisions({"siteId": site}))["url"] == f"https://{HOST}{path}feed/"


def test_a_site_that_observes_refuses_nobody_and_records_what_it_would(visit: httpx.Client, client: Client, site: str):
    client.update_site(site, {"mode": "observe"})
    try:
        assert SECRET in visit.get("/premium/premium-post/").text
    finally:
        client.update_site(site, {"mode": "enforce"})
    newest = next(client.list_decisions({"siteId": site}))
    assert "referrer" not in newest["context"]
    assert (newest["url"], newest["observed"]["allowed"]) == (f"https://{HOST}/premium/premium-post/", False)


def test_a_request_that_gets_the_text_is_charged_whatever_its_method(visit, client, blog):
    page, route = "/premium/premium-post/", f"/wp-json/wp/v2/posts/{blog.posts['premium']}"
    for method, path, override in (("OPTIONS", page, ""), ("options", page, ""), ("OPTIONS", route, "GET")):
        query = {"subscriber": "org_metered"} | ({"_method": override} if override else {})
        assert SECRET in visit.request(method, path, params=query).text
        assert (method, path, newest_charge(client)) == (method, path, Decimal("0.05"))
    for method, path in (("HEAD", page), ("HEAD", route), ("OPTIONS", route)):
        reply = visit.request(method, path, params={"subscriber": "org_metered"})
        assert (reply.status_code, SECRET in reply.text, newest_charge(client)) == (200, False, None)


def test_nobody_is_asked_about_missing_pages_sitemaps_and_redirects(visit, client, site, blog):
    """They use up no free articles of a limit, and nobody is charged."""
    last = next(client.list_decisions({"siteId": site}))["id"]
    post = f"/?p={blog.posts['premium']}"
    own = [("/premium/no-such-post/", 404), ("/wp-sitemap.xsl", 200), ("/wp-sitemap.xml", 200), (post, 301)]
    own += [("/wp-sitemap-posts-post-1.xml", 200), ("/robots.txt", 200), ("/favicon.ico", 302)]
    for (path, status), query in itertools.product(own, ({}, {"changes": "1"})):
        parameters = {"subscriber": "org_metered"} | query | dict(httpx.URL(path).params)
        reply = visit.get(path, params=parameters)
        assert (path, reply.status_code) == (path, status)
    assert next(client.list_decisions({"siteId": site}))["id"] == last


def test_plugins_that_answer_pages_themselves_are_asked_about(visit: httpx.Client):
    pages = ("/premium/premium-post/?", "/premium/none/?", "/premium/none/?code&")
    for page, action in itertools.product(pages, ("wp", "template_redirect")):
        statuses = []
        for subscriber in ("", "org_acme"):
            reply = visit.get(f"{page}print={action}&subscriber={subscriber}")
            statuses.append((reply.status_code, SECRET in reply.text))
        assert (page, action, statuses) == (page, action, [(402, False), (200, True)])


# What WordPress would redirect, or answer itself.
LEFT_TO_WORDPRESS = """
    /premium/premium-post? /?p=%(number)s& /premium/premium-post/?page=99& /premium/premium-post/?sitemap=posts&
    /premium/premium-post/?sitemap-stylesheet=sitemap& /premium/premium-post/?robots=1& /?name=premium-post&sitemap=x&
    /premium/premium-post/?favicon=1& /premium/premium-post/?sitemap=index&paged=99&
    /premium/none/?sitemap=x&
"""


@pytest.mark.parametrize("discards", ["", "&discards"])
def test_plugins_that_answer_in_the_place_of_wordpress_are_asked_about(
    visit: httpx.Client, blog: WordPress, discards: str
):
    pages = (LEFT_TO_WORDPRESS % {"number": blog.posts["premium"]}).split()
    for page, action in itertools.product(pages, ("wp", "template_redirect")):
        path = f"{page}print={action}{discards}"
        refused = visit.get(path)
        assert (path, refused.status_code, SECRET in refused.text) == (path, 402, False)
        bought = visit.get(f"{path}&subscriber=org_acme")
        assert (path, bought.status_code, SECRET in bought.text) == (path, 200, True)


def test_plugins_are_charged_for_what_wordpress_would_answer_without_text(visit, client, site):
    post = "/premium/premium-post/"
    shown = [f"{post}?", f"{post}?feed=xyz&", f"{post}?tb=1&", f"{post}?page=99&", "/?s=zzzzzz&", "/free/locked/?"]
    with opened(client, site, "/search/", "/feed/", "/free/locked/", like="/premium/*"):
        for page, action in itertools.product(shown, ("wp", "template_redirect")):
            reply = visit.get(f"{page}print={action}&subscriber=org_metered")
            found = (page, action, reply.status_code, SECRET in reply.text, newest_charge(client))
            assert found == (page, action, 200, True, Decimal("0.05"))
            assert reply.headers["Link"].count('rel="license"') == 1


def test_the_terms_are_published(visit: httpx.Client):
    terms = visit.get("/license.xml")
    assert (terms.status_code, terms.headers["Content-Type"]) == (200, "application/rsl+xml")
    assert f"{HOST}/premium/" in terms.text
    known = visit.get("/license.xml", headers={"If-None-Match": terms.headers["ETag"]})
    assert (known.status_code, known.content) == (304, b"")
    assert visit.get("/.well-known/tdmrep.json").json()
    robots = visit.get("/robots.txt").text
    assert "/wp-admin/" in robots
    assert "license.xml" in robots


def test_robots_keeps_the_terms_of_the_last_answer_while_the_service_is_down(visit: httpx.Client, blog: WordPress):
    assert "license.xml" in visit.get("/robots.txt").text
    with blog.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{free_port()}"):
        for _ in range(2):
            assert "license.xml" in visit.get("/robots.txt?later=400").text


def test_robots_has_no_terms_of_a_former_address(visit: httpx.Client, blog: WordPress):
    assert f"{HOST}/license.xml" in visit.get("/robots.txt").text
    with blog.configured(WP_HOME="http://moved.example", WP_SITEURL="http://moved.example"):
        assert "license.xml" not in visit.get("/robots.txt", headers={"Host": "moved.example"}).text
    assert f"{HOST}/license.xml" in visit.get("/robots.txt").text


def test_the_sites_own_rules_for_all_crawlers_hold_for_those_that_the_terms_name(visit, client, site):
    before = client.get_site(site)
    everything: Any = [{"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}]
    reading: Any = [{"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}]
    free, closed = (client.create_policy({"name": "A", "rules": rules})["id"] for rules in (everything, reading))
    patterns: Any = [{"pattern": "/*", "policyId": free}, {"pattern": "/premium/*", "policyId": closed}]
    client.update_site(site, {"rules": patterns})
    # Together the paths are too large for one expression of PHP.
    rows: Any = [{"title": "A", "policyId": closed, "source": f"http://{HOST}/{n:0330}"} for n in range(210)]
    made = client.upsert_content({"items": rows})["data"]
    try:
        robots = RobotsTxt(visit.get("/robots.txt?own&later=1000").text)
    finally:
        client.update_site(site, {"rules": before["rules"]})
        for row in made:
            client.delete_content(row["content"]["id"])
    own = ["/free/", "/internal/press/", "/media/", "/wp-admin/admin-ajax.php"]
    allowed = {
        "GPTBot": own,
        "CCBot": ["/free/", "/internal/press/", "/internal/", "/wp-admin/", "/wp-admin/admin-ajax.php"],
        "Googlebot": [*own, "/premium/", "/premium/sample/"],
    }
    paths = set(itertools.chain.from_iterable(allowed.values()))
    for crawler, pages in allowed.items():
        found = {path for path in paths if robots.allows(f"http://{HOST}{path}", crawler)}
        assert (crawler, found) == (crawler, set(pages))


def test_while_the_service_is_down_a_site_that_last_refused_nobody_stays_open(visit, blog, client, site):
    for mode, status in (("observe", 200), ("enforce", 503), ("disabled", 200), ("enforce", 503)):
        client.update_site(site, {"mode": mode})
        visit.get("/premium/premium-post/")
        visit.get("/.well-known/none")
        with blog.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{free_port()}"):
            assert (mode, visit.get("/premium/premium-post/").status_code) == (mode, status)


def test_headers_that_visitors_forge_are_removed(visit: httpx.Client):
    forged = {"X-Access-Requester": "org_acme", "X-Licensing-Key": "x", "X-Licensing-Requester": "org_acme"}
    assert visit.get("/free/free-post/", headers=forged).headers["X-Seen"] == "anonymous,"
    assert visit.get("/premium/premium-post/", headers=forged).status_code == 402


def test_the_sites_own_filters_name_requester_and_address(visit: httpx.Client, client: Client, site: str):
    """They are those of the guide."""
    assert visit.get("/free/free-post/", headers={"X-Real-IP": "192.0.2.7"}).status_code == 200
    newest = next(client.list_decisions({"siteId": site}))
    assert (newest["requester"]["id"], newest["context"]["ip"]) == ("anonymous", "192.0.2.0")  # of 192.0.2.7


def test_editors_are_not_asked_about(visit: httpx.Client):
    log_in(visit)
    assert SECRET in visit.get("/premium/premium-post/").text
    assert visit.get("/wp-admin/edit.php").status_code == 200


def test_while_the_service_is_down_only_open_paths_are_read(tmp_path_factory: pytest.TempPathFactory):
    with (
        wordpress(tmp_path_factory.mktemp("alone"), f"http://127.0.0.1:{free_port()}", "svc_sk_x") as alone,
        alone.client() as visit,
    ):
        for path in ("/free/free-post/", "/free/free-post/?utm_source=mail", "/free/free-post/?lang=de"):
            page = visit.get(path)
            assert (path, page.status_code, page.headers["Cache-Control"]) == (path, 200, "private")
            assert page.headers["X-Page-Cache"] == "bypass"
        assert visit.get("/free/%d9%86%d8%b5/").status_code == 200
        assert visit.get("/premium/none/").status_code == 404
        for path in ("/premium/premium-post/", "/", "/free/free-post/feed/", "/license.xml"):
            refused = visit.get(path)
            assert (path, refused.status_code, refused.headers["X-Page-Cache"]) == (path, 503, "bypass")
        page = visit.get("/premium/premium-post/", headers=BROWSER)
        assert (page.status_code, page.headers["Content-Type"].lower()) == (503, "text/html; charset=utf-8")
        assert "<p>Access cannot be checked at the moment. Please try again" in page.text
        terms = visit.get("/license.xml")
        assert (terms.headers["Retry-After"], terms.headers["Cache-Control"]) == ("10", "no-store")
        for path in other_urls(alone):
            assert (path, SECRET in visit.get(path, follow_redirects=False).text) == (path, False)
        form = visit.post("/free/free-post/", data={"p": alone.posts["premium"], "name": ""})
        assert (form.status_code, SECRET in form.text) == (503, False)
        assert visit.get("/wp-login.php").status_code == 200
        assert eventually(lambda: "cannot be reached" in alone.log.read_text())
        for paths, status in (
            ("/free/(نص|а)/", 200),
            ("/free/[^a-z/]+/", 200),
            ("/free/[а-я]+/", 503),
            ("/free/(.*/", 503),
        ):
            with alone.configured(CONTENT_LICENSING_OPEN_PATHS=paths):
                assert (paths, visit.get("/free/%d9%86%d8%b5/").status_code) == (paths, status)
        log_in(visit)
        problem = "CONTENT_LICENSING_OPEN_PATHS in wp-config.php is not a valid regular expression."
        assert problem not in visit.get("/wp-admin/edit.php").text
        with alone.configured(CONTENT_LICENSING_OPEN_PATHS="/free/(.*/"):
            assert problem in visit.get("/wp-admin/edit.php").text


def test_a_key_for_another_host_refuses_everybody_and_the_admin_says_why(
    visit: httpx.Client, blog: WordPress, client: Client
):
    fields: Any = {"type": "secret", "permissions": ["access:check"], "allowedHosts": ["other.example"]}
    key = client.create_api_key({"name": "Elsewhere", **fields})["key"]
    problem = f"CONTENT_LICENSING_KEY is not for {HOST}"
    with blog.client() as reader, blog.configured(CONTENT_LICENSING_KEY=key):
        for _ in range(2):
            assert reader.get("/free/free-post/", headers=BROWSER).status_code == 403
        log_in(visit)
        assert problem in visit.get("/wp-admin/edit.php").text
        with blog.configured(WP_HOME="http://other.example"):
            reader.get("/free/free-post/", headers={"Host": "other.example"})
        assert problem in visit.get("/wp-admin/edit.php").text  # though the key is for the other host
    assert blog.log.read_text().count(problem) == 1
    with blog.client() as reader:
        assert reader.get("/free/free-post/").status_code == 200
    assert problem not in visit.get("/wp-admin/edit.php").text


def test_hosts_that_visitors_make_up_leave_no_notice_and_one_line_in_the_log(visit: httpx.Client, blog: WordPress):
    asked = "http://' . $_SERVER['HTTP_HOST'] . '"  # a WordPress that takes its address from the request
    names = [f"h{number}.example" for number in range(3)]
    visit.get("/free/free-post/")  # the plugin learns that the site enforces
    with blog.configured(WP_HOME=asked, WP_SITEURL=asked), blog.client(Host="www.pub.example") as admin:
        log_in(admin)
        for host in (*names, "www.pub.example"):
            assert (host, visit.get("/free/free-post/", headers={"Host": host}).status_code) == (host, 403)
        shown = admin.get("/wp-admin/edit.php").text
        assert "visits of www.pub.example are not decided" not in shown  # nobody has worked there
        visit.get("/free/free-post/", headers={"Host": "www.pub.example"})
        shown = admin.get("/wp-admin/edit.php").text
        assert "visits of www.pub.example are not decided" in shown
        assert [host for host in names if host in shown] == []
    stored = blog.evaluated("echo wp_json_encode(wp_load_alloptions());")
    assert [host for host in names if host in stored] == []
    assert sum(blog.log.read_text().count(f"Visits of {host} are not decided") for host in names) <= 1


def test_the_admin_says_that_a_site_which_enforces_needs_its_open_paths(
    visit: httpx.Client, blog: WordPress, client: Client, site: str
):
    problem = "every page is open to everybody: define CONTENT_LICENSING_OPEN_PATHS"
    with blog.client() as reader, blog.configured(CONTENT_LICENSING_OPEN_PATHS=None):
        log_in(visit)
        for mode, is_shown in (("observe", False), ("enforce", True)):
            client.update_site(site, {"mode": mode})
            reader.get("/free/free-post/")
            assert (mode, problem in visit.get("/wp-admin/edit.php").text) == (mode, is_shown)
    assert problem not in visit.get("/wp-admin/edit.php").text


def test_each_reason_of_an_outage_is_logged_once_a_minute(visit: httpx.Client, blog: WordPress):
    for failure in ("No answer after 2001 ms", "No route", "No answer after 2002 ms", "No route"):
        visit.get("/free/free-post/", params={"failure": failure})
    log = blog.log.read_text()
    assert [log.count(f"cannot be reached: {reason}") for reason in ("No answer", "No route")] == [1, 1]
