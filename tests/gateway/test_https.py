import pytest
from django.conf import settings as configured

from licensing.access.event_loop.application import CheckApplication
from tests import factories
from tests.ways import GatewayClient

HSTS = f"max-age={configured.SECURE_HSTS_SECONDS}"
PATHS = ["/v1/access/check", "/v1/access/check/batch"]


@pytest.fixture
def behind_a_proxy(account, application, settings) -> GatewayClient:
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    proxied = CheckApplication()
    proxied.gateway = application.gateway
    return GatewayClient(factories.key_text(account), proxied)


@pytest.mark.parametrize("path", PATHS)
def test_a_trusted_proxy_that_was_reached_by_https_gets_hsts(behind_a_proxy, path):
    for reply in (
        behind_a_proxy.post(path, {}, headers={"X-Forwarded-Proto": "https"}),
        behind_a_proxy.post(path, {}, headers={"X-Forwarded-Proto": "https, http"}),
    ):
        assert reply.headers["Strict-Transport-Security"] == HSTS


def test_a_success_carries_it_too(behind_a_proxy, account):
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    body = {"contentId": item.pk, "requester": "org_acme"}
    reply = behind_a_proxy.post(PATHS[0], body, headers={"X-Forwarded-Proto": "https"})
    assert (reply.status, reply.headers["Strict-Transport-Security"]) == (200, HSTS)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("protocol", ["http", "http, https", ""])
def test_over_http_it_is_not_sent(behind_a_proxy, path, protocol):
    reply = behind_a_proxy.post(path, {}, headers={"X-Forwarded-Proto": protocol})
    assert "Strict-Transport-Security" not in reply.headers


@pytest.mark.parametrize("path", PATHS)
def test_headers_of_untrusted_peers_are_ignored(api, path):
    reply = api.post(path, {}, headers={"X-Forwarded-Proto": "https"})
    assert "Strict-Transport-Security" not in reply.headers


@pytest.mark.parametrize("path", PATHS)
def test_a_server_that_speaks_tls_itself_sends_it(api, path):
    api.scheme = "https"
    assert api.post(path, {}).headers["Strict-Transport-Security"] == HSTS
