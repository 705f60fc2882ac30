import asyncio
from threading import Event

import pytest
from django.db import OperationalError

from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_servers import RedisAddress
from config import asgi
from config.monitoring import probes
from kit.storage.outage_causes import OutageLog
from kit.version import VERSION


async def never(*args):
    raise AssertionError("A probe took a thread of others.")


@pytest.fixture
def ask(monkeypatch):
    """Send a probe to the service while none of its threads is free."""
    for threads in (asgi.ordinary, asgi.heavy):
        monkeypatch.setattr(threads, "serve", never)

    def send_to(path, *headers):
        sent = []

        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers}
        asyncio.run(asgi.application(scope, receive, send))
        told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return sent[0]["status"], sent[1]["body"].decode(), told

    return send_to


def test_livez_needs_no_thread(ask):
    status, body, headers = ask("/livez")
    assert (status, body) == (200, '{"status":"ok"}')
    assert headers["x-request-id"].startswith("req_")


def test_a_probe_is_answered_with_the_callers_own_request_id(ask):
    assert ask("/livez", (b"x-request-id", b"probe-1"))[2]["x-request-id"] == "probe-1"


@pytest.mark.django_db(transaction=True)
def test_readyz_says_that_redis_is_away_before_the_first_counted_request(ask, monkeypatch):
    away = RedisCounters(RedisAddress("redis://127.0.0.1:9/0"))
    monkeypatch.setattr(probes.limiter, "made", away)
    status, body, _ = ask("/readyz")
    assert status == 200
    assert '"limits":"per process: Redis does not answer"' in body


@pytest.mark.django_db(transaction=True)
def test_readyz_needs_no_thread_that_others_use(ask):
    status, body, _ = ask("/readyz")
    assert status == 200
    assert '"database":"ok"' in body


def test_readyz_does_not_wait_for_a_database_that_refuses_connections(ask, monkeypatch):
    answer = Event()
    monkeypatch.setattr(probes, "SECONDS", 2_000)
    monkeypatch.setattr(probes, "STEPS", 200_000)
    monkeypatch.setattr(probes, "outages", OutageLog())
    monkeypatch.setattr(probes.ready, "ask", lambda: answer.wait(20))
    probes.outages.note_pool(OperationalError("connection refused"))
    status, body, _ = ask("/readyz")
    assert (status, '"database":"unreachable"' in body) == (503, True)
    answer.set()


def test_readyz_does_not_wait_for_a_database_that_hangs(ask, monkeypatch):
    answer = Event()
    monkeypatch.setattr(probes, "SECONDS", 0.01)
    monkeypatch.setattr(probes.ready, "ask", lambda: answer.wait(20))
    assert ask("/readyz")[:2] == (
        503,
        f'{{"status":"unavailable","version":"{VERSION}",'
        f'"checks":{{"database":"timeout","limits":"{probes.limiter.state()}"}}}}',
    )
    answer.set()
