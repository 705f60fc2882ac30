from ipaddress import ip_address, ip_network

import pytest
from django.test import Client
from django.test.client import ClientHandler

from kit.http.headers import TrustedProxies, parse_address, parsed_address
from tests import factories
from tests.client import ApiClient


def ask(api, peer, **headers):
    api.client.defaults["REMOTE_ADDR"] = peer
    return api.get("/v1/content", headers=headers)


@pytest.fixture
def only_from(account):
    """Return a function that creates a client whose key is limited to these addresses."""
    return lambda *addresses: ApiClient(factories.key_text(account, allowed_ips=list(addresses)))


def test_the_peer_must_be_in_the_list_if_there_is_one(only_from, api):
    for allowed, peer, status in (
        ("203.0.113.9", "203.0.113.9", 200), ("203.0.113.9", "203.0.113.8", 403),
        ("203.0.113.0/24", "203.0.113.255", 200), ("203.0.113.0/24", "203.0.114.0", 403),
        ("203.0.113.0/24", "::ffff:203.0.113.9", 200), ("203.0.113.0/24", "::ffff:203.0.114.9", 403),
        ("2001:db8::/32", "2001:db8::1", 200), ("2001:db8::/32", "2001:db9::1", 403),
        ("0.0.0.0/0", "2001:db8::1", 403), ("::/0", "203.0.113.9", 403), ("203.0.113.9", "", 403),
        ("203.0.113.9", "unix:", 403),
    ):  # fmt: skip
        assert ask(only_from(allowed), peer).status == status
    assert ask(only_from("10.0.0.0/8", "2001:db8::/32", "203.0.113.9"), "203.0.113.9").status == 200
    assert ask(api, "198.51.100.7").status == 200
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP"):
        reply = ask(only_from("203.0.113.9"), "198.51.100.7", **{name: "203.0.113.9"})
        assert reply.error["code"] == "ip_not_allowed"
        assert "198.51.100.7" in reply.error["message"]


def test_behind_a_trusted_proxy_the_forwarded_address_counts(only_from, settings):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    api = only_from("203.0.113.9")
    api.client.handler = ClientHandler(enforce_csrf_checks=False)  # the middleware reads the setting when it is made
    assert ask(api, "10.0.0.1", **{"X-Forwarded-For": "203.0.113.9"}).status == 200
    assert ask(api, "10.0.0.1", **{"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}).status == 403
    assert ask(api, "198.51.100.7", **{"X-Forwarded-For": "203.0.113.9"}).status == 403


def test_the_client_is_the_right_most_untrusted_address():
    for peer, forwarded_for, client in (
        ("198.51.100.7", None, "198.51.100.7"), ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
        ("10.0.0.1", None, "10.0.0.1"), ("10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"),
        ("10.0.0.1", "1.1.1.1, 203.0.113.9, 10.9.9.9", "203.0.113.9"), ("10.0.0.1", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("10.0.0.1", "203.0.113.9:4711", "203.0.113.9"), ("10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"),
        ("10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"), ("::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("fd00::1", "2001:db8::1", "2001:db8::1"),
    ):  # fmt: skip
        trusted = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]
        assert TrustedProxies(trusted).client_of(peer, forwarded_for) == ip_address(client)
    for hops in (
        "unknown", "203.0.113.9, unknown", "203.0.113.9, ", "", " ", "_id, 10.2.2.2",
    ):  # fmt: skip
        assert TrustedProxies([ip_network("10.0.0.0/8")]).client_of("10.0.0.1", hops) is None
    assert TrustedProxies([ip_network("10.0.0.0/8")]).client_of("", "203.0.113.9") is None


@pytest.mark.parametrize("hops", ["unknown", ""])
def test_an_unknown_client_is_in_no_allowlist_that_the_proxy_is_in(only_from, settings, hops):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    api = only_from("10.0.0.1")
    api.client.handler = ClientHandler(enforce_csrf_checks=False)
    assert ask(api, "10.0.0.1").status == 200
    assert ask(api, "10.0.0.1", **{"X-Forwarded-For": hops}).error["code"] == "ip_not_allowed"


def test_unknown_clients_share_one_limit_which_is_not_the_proxys(settings, db):
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]

    def remaining(**headers):
        reply = Client(REMOTE_ADDR="10.0.0.1").get("/v1/content", headers=headers)
        return int(reply.headers["X-RateLimit-Remaining"])

    first = remaining(**{"X-Forwarded-For": "unknown"})
    assert remaining(**{"X-Forwarded-For": "nobody"}) == first - 1
    assert remaining() == first


def test_texts_too_long_for_an_address_are_invalid_and_not_cached():
    before = parsed_address.cache_info().currsize
    assert [parse_address("1" * length) for length in (101, 65_536)] == [None, None]
    assert parsed_address.cache_info().currsize == before
    assert str(parse_address(" [2001:db8::1]:443 ")) == "2001:db8::1"
