import pytest

from analytics.models import AccessEvent
from tests import factories
from tests.client import ApiClient
from tests.edge.asking import LICENSED, READERS


@pytest.fixture
def proxy(api, account, settings):
    """Return a client that sends what a trusted proxy sends."""
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    rules = {"/premium/*": factories.policy(account, LICENSED, factories.DENY_ALL), "/open/*": None}
    factories.site(account, {**rules, "/free/*": factories.policy(account, READERS)}, host="pub.example")
    key = factories.key_text(account, permissions=["access:check"])
    return ApiClient(None, **{"X-Licensing-Key": key, "X-Forwarded-Host": "pub.example", "X-Forwarded-Proto": "https"})


def test_django_answers_the_question_of_a_proxy_and_records_it(proxy):
    open_page = proxy.get("/v1/access/forward", headers={"X-Forwarded-Uri": "/free/a", "X-Request-Id": "mine"})
    assert (open_page.status, open_page.headers["X-Access-Decision"]) == (200, "allow")
    assert open_page.headers["X-Request-Id"] == "mine"
    assert open_page.headers["X-RateLimit-Limit"] == "1000000"
    refused = proxy.get("/v1/access/forward?deny=403", headers={"X-Forwarded-Uri": "/premium/a"})
    assert (refused.status, refused.headers["X-Access-Status"]) == (403, "402")
    assert (refused.error["code"], refused.headers["X-Access-Reason"]) == ("no_license", "no_license")
    assert list(AccessEvent.objects.order_by("pk").values_list("allowed", flat=True)) == [True, False]


def test_django_answers_envoy_and_says_what_is_wrong(proxy, settings):
    for path, status in (("/free/a", 200), ("/premium/a?b=c", 402), ("/free/%252e%252e/premium/a", 402)):
        assert proxy.get(f"/v1/access/envoy{path}", headers={"Host": "pub.example"}).status == status
    nobody = proxy.get("/v1/access/forward", headers={"X-Forwarded-Uri": "/free/a", "X-Licensing-Key": "svc_sk_no"})
    assert nobody.status_and_code == (401, "invalid_api_key")
    settings.TRUSTED_PROXIES = []
    untrusted = proxy.get("/v1/access/forward", headers={"X-Forwarded-Uri": "/free/a"})
    assert untrusted.status_and_param == (400, "X-Forwarded-Uri")


def test_django_identifies_crawlers(proxy, settings):
    settings.CRAWLER_DNS = False
    googlebot = {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)", "X-Forwarded-For": "203.0.113.7"}
    reply = proxy.get("/v1/access/forward", headers={"X-Forwarded-Uri": "/free/a", **googlebot})
    assert reply.headers["X-Access-Requester"] == "unverified:googlebot"
