"""The plugin for WordPress in front of the REST API, and what WordPress answers there with an error."""

from decimal import Decimal

import httpx

from tests.clients.wordpress import SECRET, WordPress, log_in
from tests.clients.wordpress.blog import *  # noqa: F403 - the fixtures
from tests.clients.wordpress.blog import newest_charge, opened

ROUTES = """
    200 wp/v2/posts 404 wp/v2/posts/99999 404 wp/v2/nothing 401 wp/v2/settings 400 wp/v2/posts?per_page=0
    400 wp/v2/posts?page=99 400 wp/v2/pages?page=99 404 wp/v2/types/zzz 404 wp/v2/taxonomies/zzz 401 wp/v2/users/me
    404 oembed/1.0/embed?url=http://none.example/ 401 oembed/1.0/proxy?url=http://none.example/
"""


def test_nobody_is_charged_for_what_has_no_text(visit, client, site, blog):
    words = ROUTES.split()
    pages = [(f"/wp-json/{route}", int(status)) for status, route in zip(words[::2], words[1::2], strict=True)]
    pages += [("/premium/premium-post/trackback/", 302), ("/none/none/feed/", 200), ("/feed/", 200)]
    pages += [("/?feed=nope", 404), ("/?feed=_rss2", 200)]
    locked = f"/wp-json/wp/v2/posts/{blog.posts['locked']}"
    lists_of_nothing = ["/?s=zzzzzz", "/?author=2", "/wp-json/wp/v2/posts?search=zzzzzz"]
    lists_of_nothing += ["/free/locked/feed/?withoutcomments=1"]
    pages += [(path, 200) for path in ("/free/locked/", locked, f"{locked}?password=sesame", *lists_of_nothing)]
    of_plugins = [f"/premium/none/?print={action}" for action in ("wp", "template_redirect")]
    pages += [(path, 200) for path in of_plugins]
    excerpt = f"{locked}?password=sesame&_fields=content.protected,excerpt"
    pages.append((excerpt, 200))
    paid = ("/wp-json/wp/v2/posts", "/feed/", excerpt, "/?feed=_rss2", f"{locked}?password=sesame", *of_plugins)
    feeds = ["/feed/$", "/comments/feed/"]  # of the site, and of a missing post
    sold = ("/wp-json/", "/free/locked/", "/search/", "/author/")
    with opened(client, site, *sold, *feeds, like="/premium/*"):
        for path, status in pages:
            query = {"subscriber": "org_metered"} | dict(httpx.URL(path).params)
            reply = visit.request("POST" if "?feed" in path else "GET", path, params=query, follow_redirects=False)
            charge = Decimal("0.05") if path in paid else None
            assert (path, reply.status_code, newest_charge(client)) == (path, status, charge)


def test_a_feed_of_comments_is_charged_once_it_has_one(visit, client, blog):
    feed, query = "/premium/premium-post/feed/", "subscriber=org_metered"
    comments = [f"{feed}?{query}", f"{feed}atom/?{query}"]
    texts = [f"{feed}?{query}&withoutcomments=1", f"{feed}rdf/?{query}"]  # RDF has the post in any case

    def free() -> list[str]:
        return [path for path in (*comments, *texts) if visit.get(path).is_success and newest_charge(client) is None]

    assert free() == comments
    for path in texts:
        assert SECRET in visit.get(path).text
    fields = f"['comment_post_ID' => {blog.posts['premium']}, 'comment_content' => 'Well said.']"
    number = blog.evaluated(f"echo wp_insert_comment({fields});")
    assert "Well said." in visit.get(comments[0]).text
    assert free() == []
    blog.evaluated(f"wp_delete_comment({number}, true);")


def test_a_route_of_wordpress_runs_once_and_keeps_its_headers(visit: httpx.Client, blog: WordPress):
    post = visit.get(f"/wp-json/wp/v2/posts/{blog.posts['premium']}?subscriber=org_acme")
    assert (post.status_code, SECRET in post.text, post.headers["X-Prepared"]) == (200, True, "1")
    assert post.headers["Allow"] == "GET"


def test_a_post_that_is_not_published_is_refused_as_wordpress_does(visit, client, site, blog):
    with opened(client, site, "/wp-json/"):
        for name in ("private", "draft"):
            reply = visit.get(f"/wp-json/wp/v2/posts/{blog.posts[name]}")
            assert (name, reply.status_code, reply.json()["code"]) == (name, 401, "rest_forbidden")
            assert reply.headers["Content-Type"].lower() == "application/json; charset=utf-8"


def test_the_rest_api_refuses_with_json_whoever_asks(visit: httpx.Client, blog: WordPress):
    page, memo = f"/wp-json/wp/v2/posts/{blog.posts['premium']}", f"/wp-json/wp/v2/memo/{blog.posts['m1']}"
    for accept in ("text/html,*/*;q=0.8", "*/*"):
        refused = visit.get(page, headers={"Accept": accept})
        assert (accept, refused.status_code, refused.json()["error"]["code"]) == (accept, 402, "no_license")
        assert refused.headers["X-Access-Id"].startswith("dec_")
        assert refused.headers["Content-Type"].lower().startswith("application/json")
        without_path = visit.get(memo, headers={"Accept": accept})
        assert (without_path.status_code, without_path.json()["code"]) == (403, "content_licensing_refused")
        assert without_path.headers["Content-Type"].lower() == "application/json; charset=utf-8"


def test_whoever_may_edit_a_page_is_not_asked_about_it(visit, client, site, blog):
    """The user may edit pages, not posts."""
    with opened(client, site, "/about/$", like="/premium/*"):
        assert visit.get("/about/").status_code == 402
        log_in(visit, "pager")
        nonce = visit.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        page = f"/wp-json/wp/v2/pages/{blog.posts['about']}"
        for path in ("/about/", f"{page}?context=edit", f"{page}/revisions?context=edit"):
            reply = visit.get(path, headers={"X-WP-Nonce": nonce})
            assert (path, reply.status_code) == (path, 200)
        saved = visit.post(page, headers={"X-WP-Nonce": nonce}, json={"title": "About us"})
        assert (saved.status_code, saved.json()["title"]["raw"]) == (200, "About us")
        post = f"/wp-json/wp/v2/posts/{blog.posts['premium']}"
        for path in ("/premium/premium-post/", post, "/about/?name=premium-post&preview=true"):
            assert (path, visit.get(path, headers={"X-WP-Nonce": nonce}).status_code) == (path, 402)


def test_wordpress_answers_a_readers_own_profile(visit, client, site):
    visit.get("/free/free-post/")
    last = next(client.list_decisions({"siteId": site}))["id"]
    log_in(visit, "reader")
    nonce = visit.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
    profile = visit.get("/wp-json/wp/v2/users/me", headers={"X-WP-Nonce": nonce})
    assert (profile.status_code, profile.json()["name"]) == (200, "reader")
    assert next(client.list_decisions({"siteId": site}))["id"] == last


def test_whoever_may_edit_a_post_of_a_type_is_asked_about_all_others(visit: httpx.Client, client, site):
    with opened(client, site, "/study/", "/about/$", like="/premium/*"):
        log_in(visit, "scholar")
        answers = [visit.get(path).status_code for path in ("/study/s2/", "/study/s1/", "/premium/premium-post/")]
        assert answers == [200, 402, 402]
        assert visit.post("/about/", data={"study": "s2"}).status_code == 402
