from urllib.parse import quote, unquote

from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told


def test_a_requester_whom_the_site_names_is_decided_about(question, site, account):
    site(LICENSED, factories.DENY_ALL)
    reply = question("/premium/a")
    assert (*told(reply), reply.headers["X-Access-Requester"]) == (402, "deny", "no_license", "anonymous")
    factories.license(account, "org_acme")
    reply = question("/premium/a", x_licensing_requester="org_acme")
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "org_acme")
    recorded = event(reply)
    assert recorded.facts["url"] == "https://pub.example/premium/a"
    assert (recorded.facts["ip"], recorded.facts["identifiedBy"]) == ("203.0.113.0", "site")
    for requester in ["Bücher & Söhne 100%", "日本", "a\r\nX-Access-Would: b", "crawler:gptbot"]:
        site(LICENSED, factories.DENY_ALL)
        factories.license(account, requester)
        reply = question("/premium/a", x_licensing_requester=quote(requester))
        assert (reply.status, unquote(reply.headers["X-Access-Requester"])) == (200, requester)
        assert event(reply).requester.requester_id == requester
        assert "X-Access-Would" not in reply.headers


def test_a_requester_whom_the_site_names_pays_only_as_a_customer(question, account, site):
    site({**READERS, "pricePerAccess": {"amount": "0.01", "currency": "USD"}})
    price = {"x_licensing_requester": "user_1", "crawler_max_price": "USD 1"}
    assert question("/premium/a", **price).headers["crawler-error"] == "StrongAuthRequired"
    factories.wallet(account, requester_id="user_1")
    assert question("/premium/a", **price).headers["crawler-charged"] == "USD 0.01"


def test_only_middleware_may_name_the_visitor(question, site, ask, raw, key, account):
    site(factories.DENY_ALL)
    forged = {
        "x_forwarded_uri": "/about",
        "x_forwarded_for": "192.0.2.1",
        "x_forwarded_host": "other.example",
        "x_original_url": "https://pub.example/about",
    }
    reply = question("/premium/a", **forged)
    assert reply.status == 403
    assert event(reply).facts["ip"] == "203.0.113.0"
    site(LICENSED, factories.DENY_ALL)
    factories.license(account, "org_acme")
    named = {"x_licensing_requester": "org_acme"}
    assert ask("/premium/a", **named).status == 402
    whole = {"x_original_url": "https://pub.example/premium/a"}
    assert ask(None, path="/v1/access/ingress-nginx", **whole, **named).status == 402
    by_envoy = raw("/v1/access/envoy/premium/a", host="pub.example", x_licensing_key=key, **named)
    assert by_envoy.status == 402


def test_a_crawler_or_token_limits_a_named_requester(question, account, site):
    site({**LICENSED, "permissions": ["read"]}, factories.DENY_ALL)
    factories.license(account, "org_acme")
    reply = question("/premium/a", x_licensing_requester="org_acme", user_agent="GPTBot/1.0")
    assert (reply.status, event(reply).permission) == (403, "ai_training")
    site(LICENSED)
    factories.license(account, "org_acme")
    sent = {"authorization": "License nope", "x_licensing_requester": "org_acme"}
    assert question("/premium/a", **sent).status == 401


def test_headers_that_are_unclear_are_400_and_named(question, site):
    for header, value in [
        ("X-Licensing-Url", "/premium/a"), ("X-Licensing-Url", ""), ("X-Licensing-Address", "somewhere"),
        ("X-Licensing-Requester", "a" * 256), ("X-Licensing-Requester", "%20"), ("X-Licensing-Requester", "%ff"),
        ("X-Licensing-Requester", "a%00b"),
    ]:  # fmt: skip
        site(READERS)
        reply = question("/premium/a", **{header.lower().replace("-", "_"): value})
        assert reply.status_and_param == (400, header)
    for name in ["x_licensing_url", "x_licensing_requester", "x_licensing_address"]:
        site(READERS)
        assert question("/premium/a", **{name: ["https://pub.example/about"] * 2}).status == 400
    for end in ["/", "/about/", "/about?", "/about#"]:
        site(READERS)
        reply = question(None, x_licensing_url=f"https://pub.example{quote(end, safe='')}/premium/a")
        assert reply.status_and_param == (400, "X-Licensing-Url")
