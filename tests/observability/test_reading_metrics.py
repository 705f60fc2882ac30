"""/metrics requires the token; without one, only direct local requests can read it, not proxied ones."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db  # the sizes of tables are metrics

TOKEN = "a-token-for-prometheus"


def read(address: str = "127.0.0.1", **headers: str) -> int:
    return Client(REMOTE_ADDR=address).get("/metrics", headers=headers).status_code


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
def test_this_machine_may(address):
    assert read(address) == 200


@pytest.mark.parametrize("address", ["203.0.113.9", "10.0.0.5", "2001:db8::1", ""])
def test_another_machine_may_not(address):
    assert read(address) == 404


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "X-Forwarded-Host", "Via"])
def test_metrics_are_refused_through_a_local_proxy(header):
    assert read(**{header: "127.0.0.1"}) == 404


def test_a_trusted_proxy_is_believed(settings):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert read(**{"X-Forwarded-For": "203.0.113.9"}) == 404
    assert read(**{"X-Forwarded-For": "127.0.0.1, 203.0.113.9"}) == 404
    assert read(**{"X-Forwarded-For": "127.0.0.1"}) == 200


@pytest.mark.parametrize("hops", ["unknown", "", "127.0.0.1, unknown"])
def test_a_trusted_proxy_that_names_no_address_may_not(settings, hops):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert read(**{"X-Forwarded-For": hops}) == 404


@pytest.mark.parametrize("header", ["X-Forwarded-Proto", "Forwarded", "Via"])
def test_a_trusted_proxy_that_does_not_say_for_whom_it_asks_may_not(settings, header):
    settings.TRUSTED_PROXIES = ["127.0.0.1"]
    assert read(**{header: "https"}) == 404


def test_with_a_token_everybody_needs_it(settings):
    settings.METRICS_TOKEN = TOKEN
    assert read() == 404
    assert read(Authorization="Bearer another") == 404
    assert read(Authorization=f"Bearer {TOKEN}") == 200
    assert read("203.0.113.9", Authorization=f"Bearer {TOKEN}", **{"X-Forwarded-For": "198.51.100.1"}) == 200
    settings.METRICS_TOKEN = TOKEN
    assert read(Authorization="Bearer ü") == 404
    settings.METRICS_TOKEN, settings.ALLOWED_HOSTS = TOKEN, ["api.pub.example"]
    assert read(Host="10.2.3.4:8000", Authorization=f"Bearer {TOKEN}") == 200
    assert read(Host="10.2.3.4:8000") == 400
    settings.METRICS_TOKEN = ""
    assert read(Host="rebound.example") == 400
