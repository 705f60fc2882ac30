import pytest

from analytics.models import AccessEvent
from licensing.access.lookup.items import find_items
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told


def test_an_allowed_page_is_200_with_its_decision(ask, site):
    site(READERS)
    reply = ask("/premium/a")
    assert told(reply) == (200, "allow", None)
    assert (reply.headers["X-Access-Status"], reply.headers["X-Access-Requester"]) == ("200", "anonymous")
    assert reply.headers["Cache-Control"] == "no-store"
    assert reply.headers["Link"] == ('<https://pub.example/license.xml>; rel="license"; type="application/rsl+xml"')
    assert reply.content == b""
    assert event(reply).allowed


def test_a_use_that_only_a_licence_grants_is_a_402(ask, account, site):
    """The rule that lets everybody read the page for free grants no other use."""
    site(LICENSED, {"action": "allow", "priority": 2, "conditions": {"default": True}, "permissions": ["read"]})
    assert told(ask("/premium/a")) == (200, "allow", None)
    reply = ask("/premium/a", user_agent="GPTBot/1.0")
    assert told(reply) == (402, "deny", "permission_not_granted")
    assert reply.headers["WWW-Authenticate"].startswith("License error=")
    assert reply.error["message"] == "A licence for this use is needed."


def test_a_denial_says_whether_a_licence_or_time_would_open_the_page(ask, site):
    site(LICENSED)
    reply = ask("/premium/a", authorization="License abc.def.ghi")
    assert told(reply) == (401, "deny", "invalid_token")
    assert reply.headers["WWW-Authenticate"].startswith('License error="invalid_token"')
    assert not AccessEvent.objects.exists()
    site({"action": "allow", "conditions": {"default": True}, "permissions": ["search"]})
    reply = ask("/premium/a")
    assert told(reply) == (403, "deny", "permission_not_granted")
    assert "WWW-Authenticate" not in reply.headers
    site(LICENSED, factories.DENY_ALL)
    reply = ask("/premium/a")
    assert told(reply) == (402, "deny", "no_license")
    assert reply.headers["WWW-Authenticate"].startswith("License error=")
    assert reply.error == {"code": "no_license", "message": "A valid licence is required.", "type": "access_denied"}
    assert event(reply).reason == "no_license"
    site({**READERS, "rateLimit": {"requests": 1, "period": "day"}})
    assert ask("/premium/a").status == 200
    reply = ask("/premium/b")
    assert told(reply) == (429, "deny", "rate_limit_exceeded")
    assert 0 < int(reply.headers["Retry-After"]) <= 86_400


def test_unknown_pages_follow_the_setting_of_the_site(ask, account, site):
    reply = ask("/about")
    assert told(reply) == (200, "allow", None)
    assert (event(reply).allowed, event(reply).observed) == (True, "no_policy")
    for unknown, status in [("allow", 200), ("deny", 403)]:
        site(READERS, unknown=unknown)
        reply = ask("/about")
        assert reply.status == status
        assert event(reply).allowed is (status == 200)
        assert reply.headers.get("X-Access-Reason") == (None if status == 200 else "no_policy")


def test_nginx_gets_403_for_every_denial_and_error_and_the_status_in_a_header(ask, account):
    for path, rules, statuses in [
        ("/allowed", [READERS], (200, "200")),
        ("/for-licensees", [LICENSED, factories.DENY_ALL], (403, "402")),
        ("/for-nobody", [factories.DENY_ALL], (403, "403")),
        ("/without-a-policy", [], (403, "403")),
    ]:
        policy = factories.policy(account, *rules).pk if rules else None
        factories.content(account, source=f"https://pub.example{path}", policy_id=policy)
        reply = ask(path, path="/v1/access/forward?deny=403")
        assert (reply.status, reply.headers["X-Access-Status"]) == statuses, path
    reply = ask("/a", path="/v1/access/forward?deny=403", x_licensing_key=None)
    assert (reply.status, reply.headers["X-Access-Status"]) == (403, "401")


def test_registered_items_win_over_patterns_in_every_spelling(ask, account, site):
    site(factories.DENY_ALL)
    item = factories.content(
        account, source="https://pub.example/premium/a", policy_id=factories.policy(account, READERS).pk
    )
    reply = ask("/premium/a")
    assert told(reply) == (200, "allow", None)
    assert event(reply).content_id == item.pk
    assert ask("/premium/b").status == 403
    for uri in ["/a", "/a?utm=1", "/%61", "//a", "/./a", "/b/../a", "/b/%2e%2e/a", "/%2Fa", "/a?b=../c", "/a#x"]:
        for scheme in ["http", "https"]:
            site(READERS)
            factories.content(
                account, source="https://pub.example/a", policy_id=factories.policy(account, factories.DENY_ALL).pk
            )
            assert ask(uri, x_forwarded_proto=scheme).status == 403


def test_an_item_that_was_registered_with_a_query_is_found_by_it(ask, account, api_of):
    denied = factories.policy(account, factories.DENY_ALL).pk
    factories.content(account, source="https://pub.example/page?id=1", policy_id=denied)
    assert ask("/page?id=1").status == 403
    assert ask("/page?id=2").status == 200
    item = factories.content(account, source="https://pub.example/a")
    api_of(account).patch(f"/v1/content/{item.pk}", {"status": "archived"})
    assert told(ask("/a")) == (403, "deny", "content_archived")


def test_the_longest_pattern_of_the_account_counts(ask, other_account, account):
    shut = factories.policy(other_account, factories.DENY_ALL)
    factories.site(other_account, {"/*": shut}, host="pub.example")
    assert ask("/a").status == 200
    shut, open_ = factories.policy(account, factories.DENY_ALL), factories.policy(account, READERS)
    rules = {"/*": shut, "/premium/samples/*": open_, "/premium/*": shut, "/premium/none/*": None}
    factories.site(account, rules, host="pub.example")
    assert ask("/premium/samples/a").status == 200
    assert ask("/premium/a").status == 403
    assert ask("/premium/none/a").status == 200


TERMS = ["/robots.txt", "/license.xml", "/.well-known/tdmrep.json", "/sitemap.xml"]
FILES_OF_A_SITE = [
    "/ads.txt", "/app-ads.txt", "/favicon.ico", "/manifest.json", "/security.txt", "/sitemap_index.xml",
    "/sitemap-1.xml", "/wp-sitemap-posts-post-1.xml", "/news-sitemap.xml", "/sitemaps/2026/11.xml.gz", "/%61ds.txt",
    "//ads.txt?x=1", "//robots.txt", "/%72obots.txt", "/.well-known/x", "/.well-known//x",
]  # fmt: skip
# Other paths that an origin may read as the page of an article.
DECIDED = [
    "/premium/ads.txt", "/ads.txt/premium", "/sitemap/premium.xml", "/sitemap.xml/premium",
    "/premium/news-sitemap.xml", "/sitemaps/../premium/a", "/sitemaps/..;/premium/a",
    "/sitemap_index.xml;/premium/a", "/ads.txt%2fpremium", "/sitemap%00.xml", "/sitemap.html", "/newssitemap.xml",
    "/" + "-sitemap" * 500, "/.well-known/..;/a", "/.well-known/%252e%252e/a", "/.well-known/..%2fa",
    "/.well-known/..%5Ca", "/a;/robots.txt", "/robots.txt;x", "/robots.txt/a", "/robots.txt%00",
    "/.well-known/..%00/a", "/.well-known#/../a",
]  # fmt: skip


@pytest.mark.parametrize("unknown", ["allow", "deny"])
def test_terms_and_files_of_a_site_as_a_whole_are_open_and_paths_that_resemble_them_are_not(ask, account, unknown):
    shut = factories.policy(account, factories.DENY_ALL)
    factories.site(account, {"/*": shut}, host="pub.example", unknown=unknown)
    for path in TERMS + FILES_OF_A_SITE:
        assert told(ask(path)) == (200, "allow", None), path
    for path in [*(f"/.well-known/..{path.replace('.well-known/', '')}x" for path in TERMS), *DECIDED]:
        assert ask(path).status == 403, path


def test_observing_and_disabled_sites_let_everything_through(ask, site):
    site(factories.DENY_ALL, mode="observe")
    reply = ask("/premium/a")
    assert told(reply) == (200, "allow", None)
    assert reply.headers["X-Access-Would"] == "deny; reason=policy_denied"
    assert event(reply).observed == "policy_denied"
    site(READERS, mode="observe", unknown="deny")
    assert ask("/about").headers["X-Access-Would"] == "deny; reason=no_policy"
    site(factories.DENY_ALL, mode="disabled")
    reply = ask("/premium/a")
    assert (reply.status, reply.headers.get("X-Access-Would")) == (200, None)


def test_decisions_of_the_edge_can_be_read_with_the_api(ask, account, site, api_of):
    site(factories.DENY_ALL, mode="observe")
    reply = ask("/premium/a?token=secret")
    shown = api_of(account).get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}").body
    assert (shown["allowed"], shown["observed"]["reason"], shown["policyVersion"]) == (True, "policy_denied", 1)
    assert event(reply).facts["url"] == "https://pub.example/premium/a"
    assert "secret" not in str(event(reply).facts)


def test_envoy_sends_the_page_as_path_and_host(raw, site, key):
    site(factories.DENY_ALL)
    told_by = {"host": "pub.example", "x_licensing_key": key}
    assert raw("/v1/access/envoy/premium/a?b=c", **told_by).status == 403
    assert raw("/v1/access/envoy/about", **told_by).status == 200
    assert raw("/v1/access/envoy/", **told_by).status == 200
    forged = {"x_forwarded_uri": "/about", "x_forwarded_host": "other.example"}
    assert raw("/v1/access/envoy/premium/a", peer="203.0.113.1", **forged, **told_by).status == 403


def test_a_lookup_of_pages_takes_a_fixed_number_of_queries(account, site, django_assert_max_num_queries):
    site(READERS)
    for number in range(5):
        factories.content(account, source=f"https://pub.example/{number}")
    pages = [("page", f"https://pub.example/{number}") for number in range(20)]
    pages += [("page", f"https://pub.example/premium/{number}") for number in range(20)]
    with django_assert_max_num_queries(7):
        assert len(find_items(account.pk, pages)) == 40
