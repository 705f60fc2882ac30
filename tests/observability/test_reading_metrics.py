"""/metrics requires the token; without one, only direct local requests can read it, not proxied ones."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db  # the sizes of tables are metrics

TOKEN = "a-token-for-prometheus"


def read(address: str = "127.0.0.1", **headers: str) -> int:
    return Client(REMOTE_ADDR=address).get("/metrics", headers=headers).status_code


def test_only_this_machine_may_and_not_through_a_proxy():
    for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"]:
        assert read(address) == 200
    for address in ["203.0.113.9", "10.0.0.5", "2001:db8::1", ""]:
        assert read(address) == 404
    for header in ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "Via"]:
        assert read(**{header: "127.0.0.1"}) == 404


def test_a_trusted_proxy_is_believed_if_it_names_this_machine(settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert read(**{"X-Forwarded-For": "127.0.0.1"}) == 200
    for hops in ["203.0.113.9", "127.0.0.1, 203.0.113.9", "unknown", "", "127.0.0.1, unknown"]:
        assert read(**{"X-Forwarded-For": hops}) == 404
    for header in ["X-Forwarded-Proto", "Forwarded", "Via"]:  # without an address
        assert read(**{header: "https"}) == 404


def test_with_a_token_everybody_needs_it(settings):
    settings.METRICS_TOKEN = TOKEN
    assert read() == 404
    for wrong in ("another", "ü"):
        assert read(Authorization=f"Bearer {wrong}") == 404
    assert read(Authorization=f"Bearer {TOKEN}") == 200
    assert read("203.0.113.9", Authorization=f"Bearer {TOKEN}", **{"X-Forwarded-For": "198.51.100.1"}) == 200
    settings.ALLOWED_HOSTS = ["api.pub.example"]
    assert read(Host="10.2.3.4:8000", Authorization=f"Bearer {TOKEN}") == 200
    assert read(Host="10.2.3.4:8000") == 400
    settings.METRICS_TOKEN = ""
    assert read(Host="rebound.example") == 400
