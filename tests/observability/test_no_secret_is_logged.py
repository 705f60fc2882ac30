"""Secrets sent in any part of a request never appear in the logs."""

import logging

import pytest
from django.conf import settings as configured
from django.db import OperationalError, connection

from accounts.keys import keytext
from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_servers import RedisAddress
from kit.telemetry.logs import JsonLines, Lines, own_secrets
from licensing.access.event_loop.application import CheckApplication
from tests import factories
from tests.observability.log_output import Log
from tests.ways import GatewayClient

PASSWORD, TOKEN, PEPPER = "correct-horse-battery", "metrics-token-staple", "salt-and-pepper-and-more"
CHECK = "/v1/access/check"
BOTH = pytest.mark.parametrize("log", [Lines, JsonLines], indirect=True)


@pytest.fixture(autouse=True)
def _everything_is_logged(settings, access_log):
    settings.METRICS_TOKEN = TOKEN
    own_secrets.cache_clear()
    connection.force_debug_cursor = True
    yield
    connection.force_debug_cursor = False
    own_secrets.cache_clear()


def secret_part(text: str) -> str:
    return text[keytext.PREFIX_CHARACTERS :]


@BOTH
@pytest.mark.parametrize("failing", [False, True])
def test_no_place_of_a_request_brings_a_key_into_the_log(log: Log, account, application, monkeypatch, failing):
    text, other = factories.key_text(account), keytext.generate("secret")
    if failing:

        def fail(*args, **kwargs):
            raise RuntimeError(f"with {other}, Bearer {text} and {args} {kwargs}")

        monkeypatch.setattr("licensing.content.services.save_content", fail)
        monkeypatch.setattr(application.gateway.facts, "look_up", fail)
        monkeypatch.setattr("licensing.access.checks.check_access", fail)
    client = GatewayClient(text, application)
    places = {"X-Request-Id": other, "User-Agent": other, "Cookie": f"sessionid={other}", "X-Api-Key": other}
    body = {"externalId": other, "requester": {"id": other, "name": text}, "context": {"userAgent": text}}
    for headers in (places, {**places, "Idempotency-Key": other}):
        client.post(CHECK, body, headers=headers)
        client.post(f"{CHECK}?key={other}", body, headers=headers)
        client.post(f"{CHECK}/batch", {"checks": [body]}, headers=headers)
        client.post("/v1/content", {"title": other, "source": f"https://x:{other}@y.example/"}, headers=headers)
        client.post("/v1/content", f'{{"title": "{other}'.encode(), headers=headers)
    client.get(f"/v1/content/{other}?title={other}&{other}={other}", headers=places)
    client.get(f"/{other}", headers=places)
    GatewayClient(other, application).post(CHECK, body)
    GatewayClient(None, application).post(CHECK, body, headers={"Authorization": f"Basic {other}"})
    assert log.text.count("access") > 10
    for one in (text, other):
        assert secret_part(one) not in log.text


@BOTH
def test_a_created_key_and_its_kept_reply_are_not_logged(log: Log, account):
    api = GatewayClient(factories.key_text(account), CheckApplication())
    made = [
        api.post("/v1/api-keys", {"name": "x", "type": "secret"}, headers={"Idempotency-Key": "once"})
        for _ in range(2)
    ]
    assert made[0]["key"] == made[1]["key"]
    assert "/v1/api-keys" in log.text
    assert secret_part(made[0]["key"]) not in log.text


@BOTH
def test_the_settings_secrets_are_not_logged(log: Log, settings):
    settings.REDIS_URL = f"redis://:{PASSWORD}@redis.internal:6379/0"
    settings.API_KEY_PEPPER_TEXT = PEPPER
    own_secrets.cache_clear()
    logging.getLogger("some.where").error("%r", configured.SECRET_KEY)
    logging.getLogger("some.where").error("the password is '%s', the token %s", PASSWORD, TOKEN)
    made_of_it = settings.API_KEY_PEPPER
    logging.getLogger("some.where").error("%s makes %r, %s", PEPPER, made_of_it, made_of_it.hex())
    try:
        raise OperationalError(f"could not connect to {settings.REDIS_URL}")
    except OperationalError:
        logging.getLogger("some.where").exception("failed")
    assert log.text.count("some.where") == 4
    for secret in (configured.SECRET_KEY, PASSWORD, TOKEN, PEPPER, repr(made_of_it)[2:-1], made_of_it.hex()):
        assert secret not in log.text


@BOTH
def test_a_redis_that_is_away_is_named_without_its_password(log: Log):
    import redis

    url = f"redis://:{PASSWORD}@127.0.0.1:1/0"
    counters = RedisCounters(RedisAddress(url))
    counters.consume([], 0)
    counters.outages.note_failure(redis.ConnectionError(f"cannot connect to {url}"))
    assert "Redis does not answer" in log.text
    assert PASSWORD not in log.text


def test_the_password_of_the_replica_for_reports_is_not_logged(log: Log, monkeypatch):
    monkeypatch.setitem(configured.DATABASES, "replica", {"PASSWORD": "another-horse-battery"})
    own_secrets.cache_clear()
    logging.getLogger("some.where").error("the password is '%s'", "another-horse-battery")
    assert "another-horse-battery" not in log.text
