from analytics.models import AccessEvent
from tests import factories
from tests.edge.asking import LICENSED, READERS, event


def test_the_edge_needs_a_key_that_may_check_from_the_address_of_the_proxy(ask, site, account):
    site(READERS)
    assert ask("/premium/a", x_licensing_key=None).status_and_code == (401, "missing_api_key")
    assert ask("/premium/a", x_licensing_key="svc_sk_nope").error["code"] == "invalid_api_key"
    reply = ask("/premium/a", x_licensing_key=factories.key_text(account, permissions=["content:read"]))
    assert reply.status_and_code == (403, "insufficient_permissions")
    assert ask("/premium/a", x_licensing_key=factories.key_text(account, allowed_ips=["10.0.0.1/32"])).status == 200
    reply = ask("/premium/a", x_licensing_key=factories.key_text(account, allowed_ips=["203.0.113.9/32"]))
    assert reply.error["code"] == "ip_not_allowed"


def test_a_proxy_can_have_its_own_faults_answered_as_an_outage(ask, account, site, caplog):
    site(READERS)
    powerless = factories.key_text(account, permissions=["content:read"])
    outage = {"x_licensing_errors": "503"}
    for path in ("/v1/access/forward", "/v1/access/forward?deny=403"):
        replies = [
            ask("/premium/a", path=path, x_licensing_key="svc_sk_nope", **outage),
            ask("/premium/a", path=path, x_licensing_key=powerless, **outage),
            ask("/premium/a", path=path, peer="203.0.113.50", **outage),
        ]
        assert [reply.status for reply in replies] == [503, 503, 503]
        assert replies[0].error["code"] == "invalid_api_key"
    faults = [message for message in caplog.messages if "could not ask, so its file decides" in message]
    assert len(faults) == 3  # one for each reason, until a minute has passed
    assert "(insufficient_permissions)" in faults[1]
    site(LICENSED)
    assert ask("/premium/a", **outage).status == 402
    assert ask("/premium/a", authorization="License nope", **outage).status == 401
    assert ask("/premium/a", x_forwarded_uri="about", **outage).status == 400


def test_every_answer_links_to_the_terms(ask, account, site):
    site({**READERS, "rateLimit": {"requests": 1, "period": "day"}})
    link = '<https://pub.example/license.xml>; rel="license"; type="application/rsl+xml"'
    powerless = factories.key_text(account, permissions=["content:read"])
    replies = [
        ask("/premium/a"), ask("/premium/a"), ask("/robots.txt"), ask("/elsewhere"),
        ask("/premium/a", x_licensing_key=None), ask("/premium/a", x_licensing_key=powerless),
        ask("/premium/a", authorization="License nope"), ask("/premium/a", crawler_max_price="much"),
        ask("/premium/a", path="/v1/access/forward?deny=403", x_licensing_key="svc_sk_nope"),
    ]  # fmt: skip
    assert [reply.status for reply in replies] == [200, 429, 200, 200, 401, 403, 401, 400, 403]
    assert [reply.headers.get("Link") for reply in replies] == [link] * 9


def test_every_question_counts_once(ask, site):
    site(READERS)
    first, second = ask("/premium/a"), ask("/robots.txt")
    assert int(first.headers["X-RateLimit-Remaining"]) - int(second.headers["X-RateLimit-Remaining"]) == 1


def test_a_target_without_a_path_is_the_front_page(ask, account):
    factories.site(account, {"/$": factories.policy(account, READERS)}, host="pub.example")
    assert event(ask("?x=1")).facts["url"] == "https://pub.example/"


def test_only_trusted_headers_name_one_page(ask, account, site):
    site(factories.DENY_ALL)
    reply = ask("/about", peer="203.0.113.50")
    assert reply.status_and_param == (400, "X-Forwarded-Uri")
    assert not AccessEvent.objects.exists()
    for headers in [
        {"x_forwarded_uri": None}, {"x_forwarded_uri": ""}, {"x_forwarded_uri": "about"}, {"x_forwarded_host": "a b"},
        {"x_forwarded_uri": ["/premium/a", "/about"]}, {"x_forwarded_host": "pub.example, other.example"},
        {"x_forwarded_uri": "/" + "a" * 9_000},
    ]:  # fmt: skip
        site(factories.DENY_ALL)
        assert ask("/premium/a", **headers).status == 400
    forged = {"x_access_decision": "allow", "x_access_requester": "crawler:gptbot", "x_access_would": "allow"}
    assert ask("/premium/a", **forged).status == 403
    for query in ["token=x", "access_token={key}", "key={key}", "X-Licensing-Key={key}", "deny=200"]:
        site(LICENSED, factories.DENY_ALL)
        own, text = factories.api_key(account)
        factories.license(account, own.pk)
        asked = query.format(key=text)
        reply = ask(f"/premium/a?{asked}", path=f"/v1/access/forward?{asked}")
        assert (reply.status, reply.headers["X-Access-Requester"]) == (402, "anonymous")


def by_ingress_nginx(ask, url, **headers):
    """Return ingress-nginx's request: it sets X-Original-URL and passes on the visitor's X-Forwarded-*."""
    sent = {"x_original_url": url, "x_original_method": "GET", "x_forwarded_host": None, **headers}
    return ask(None, path="/v1/access/ingress-nginx?deny=403", **sent)


def test_ingress_nginx_sends_the_whole_url(ask, site):
    site(factories.DENY_ALL)
    reply = by_ingress_nginx(ask, "https://pub.example/premium/a?b=c")
    assert (reply.status, reply.headers["X-Access-Status"]) == (403, "403")
    assert by_ingress_nginx(ask, "https://pub.example/about").status == 200
    assert by_ingress_nginx(ask, "https://pub.example/about#/../premium/a").status == 403
    forged = {"x_forwarded_uri": "/about", "x_forwarded_host": "other.example", "x_forwarded_proto": "http"}
    reply = by_ingress_nginx(ask, "https://pub.example/premium/a", **forged)
    assert (reply.status, event(reply).facts["url"]) == (403, "https://pub.example/premium/a")
    assert ask("/premium/a", x_original_url="https://pub.example/about").status == 403
    assert ask(None, x_original_url="https://pub.example/about").status == 400


def test_malformed_urls_are_refused(ask, site):
    for url in [
        None, "", "/about", "pub.example/about", "http:///about", "ftp://pub.example/about", "http://[/about",
        "http://a@pub.example/", ["https://pub.example/about"] * 2, "https://pub.example/" + "a" * 9_000,
    ]:  # fmt: skip
        site(factories.DENY_ALL)
        reply = by_ingress_nginx(ask, url)
        assert (reply.status, reply.error["type"]) == (403, "validation_error")


def test_any_method_is_answered(ask, site):
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "PROPFIND"]:
        site(factories.DENY_ALL)
        reply = ask("/premium/a", method=method)
        assert reply.status == 403
        assert bool(reply.content) is (method != "HEAD")
