from io import BytesIO

import pytest
from django.conf import settings as configured

from config.wsgi import Request
from licensing.access.event_loop.application import CheckApplication
from tests import factories
from tests.client import ApiClient
from tests.ways import GatewayClient

PATHS = ["/v1/access/check", "/v1/access/check/batch"]
OF_THIS_REPLY = {"content-length", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit"}


@pytest.fixture
def django(account):
    return ApiClient(factories.key_text(account))


def shown(reply):
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return reply.status, reply.body, {name: value for name, value in headers.items() if name not in OF_THIS_REPLY}


MEDIA_TYPES = [
    "", "text/plain", "Application/JSON; charset=UTF-8", "application/json; charset=utf-16", "; charset=latin-1",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_queries_and_media_types_are_answered_in_the_same_way(api, django, path):
    for query in ("a=1", "a", "=", "a=1&a=2", "a=%00", "a=%ff", "%ff=1", "a%5Bne%5D=1", "&"):
        assert shown(api.post(f"{path}?{query}", {})) == shown(django.post(f"{path}?{query}", {})), query
    for media_type in MEDIA_TYPES:
        headers = {"Content-Type": media_type}
        assert shown(api.post(path, {}, headers=headers)) == shown(django.post(path, {}, headers=headers)), media_type


@pytest.mark.parametrize(
    ("name", "status"), [("Authorization", 401), ("Content-Type", 415), ("Host", 400), ("X-Request-Id", 422)]
)
def test_a_header_given_twice_is_read_as_one(api, django, name, status):
    given = {"Authorization": api.headers["Authorization"], "Content-Type": "application/json", "Host": "localhost"}
    value = given.get(name, "req-1")
    one = api.post(PATHS[0], {}, headers={name: [value, value]})
    other = django.post(PATHS[0], {}, headers={name: f"{value},{value}"})
    assert shown(one)[:2] == shown(other)[:2]
    assert one.headers["X-Request-Id"] == other.headers["X-Request-Id"] or name != "X-Request-Id"
    assert one.status == status


def test_a_request_without_a_host_is_for_the_server(api):
    assert api.post(PATHS[0], {}, headers={"Host": []}).status == 422


@pytest.mark.parametrize("headers", [{}, {"Origin": "https://reader.example"}, {"Accept": "text/html"}])
def test_a_decision_has_the_same_headers(api, django, account, headers):
    item = factories.content(account)
    body = {"contentId": item.id, "requester": "org_acme", "dryRun": True}
    [one, other] = [shown(client.post(PATHS[0], body, headers=headers)) for client in (api, django)]
    assert one[2] == other[2]
    assert one[0] == other[0] == 200


@pytest.mark.parametrize("charset", ["charset=utf-16", "charset=rot13", "charset=undefined", "charset*=none''x"])
def test_queries_are_utf_8_for_every_media_type(charset):
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": "/v1/content",
        "QUERY_STRING": "title=caf%C3%A9",
        "CONTENT_TYPE": f"Application/JSON; {charset}",
        "wsgi.input": BytesIO(),
    }
    request = Request(environ)
    assert request.GET["title"] == "café"
    assert request.content_type == "application/json"


HSTS = f"max-age={configured.SECURE_HSTS_SECONDS}"


@pytest.fixture
def behind_a_proxy(account, application, settings) -> GatewayClient:
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    proxied = CheckApplication()
    proxied.gateway = application.gateway
    return GatewayClient(factories.key_text(account), proxied)


@pytest.mark.parametrize("path", PATHS)
def test_strict_transport_security_is_sent_to_clients_of_https_alone(api, behind_a_proxy, path):
    def hsts(client, **headers):
        return client.post(path, {}, headers=headers).headers.get("Strict-Transport-Security")

    for protocol, header in (
        ("https", HSTS), ("https, http", HSTS), ("http", None), ("http, https", None), ("", None),
    ):  # fmt: skip
        assert hsts(behind_a_proxy, **{"X-Forwarded-Proto": protocol}) == header, protocol
    assert hsts(api, **{"X-Forwarded-Proto": "https"}) is None  # anybody can send it
    api.scheme = "https"  # the server speaks TLS itself
    assert hsts(api) == HSTS


def test_a_success_carries_strict_transport_security_too(behind_a_proxy, account):
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    body = {"contentId": item.pk, "requester": "org_acme"}
    reply = behind_a_proxy.post(PATHS[0], body, headers={"X-Forwarded-Proto": "https"})
    assert (reply.status, reply.headers["Strict-Transport-Security"]) == (200, HSTS)
