import json
import logging

import pytest
from django.db import OperationalError

from config import asgi
from kit.http.middleware import request_id
from tests.gateway.wire import exchanged

EACH_WAY = pytest.mark.parametrize("query", [b"", b"?a=1"], ids=["whole", "in parts"])


@pytest.fixture
def ask(monkeypatch):
    """Send a POST whose thread fails with an exception; return the reply's status, headers and body."""

    def send(failure, query, *lines):
        async def serve(*args):
            raise failure

        monkeypatch.setattr(asgi.ordinary, "serve", serve)
        head = (b"POST /v1/content%b HTTP/1.1" % query, b"Host: localhost", b"Content-Length: 2", *lines)
        received = exchanged(asgi.serve_with_django, b"\r\n".join(head) + b"\r\n\r\n{}", last=b"")
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines), json.loads(body)

    return send


@EACH_WAY
def test_a_database_that_is_away_is_a_503(ask, query):
    status, headers, body = ask(OperationalError("server closed the connection"), query)
    assert (status, body["error"]["code"]) == (503, "service_unavailable")
    assert headers["retry-after"] == "1"
    assert "x-ratelimit-limit" in headers


@EACH_WAY
@pytest.mark.parametrize("lines", [(), (b"X-Request-Id: mine",)], ids=["own id", "client's id"])
def test_anything_else_is_a_500_that_is_logged_once_with_the_id_of_the_request(ask, query, lines, caplog):
    failure, ids = RuntimeError("unforeseen"), []
    caplog.handler.addFilter(lambda record: ids.append(request_id.get()) or True)
    with caplog.at_level(logging.ERROR):
        status, headers, body = ask(failure, query, b"Accept: application/problem+json", *lines)
    assert (status, headers["content-type"]) == (500, "application/problem+json")
    assert (body["status"], body["error"]["code"]) == (500, "internal_error")
    assert [record.exc_info[1] for record in caplog.records] == [failure]
    assert ids == [headers["x-request-id"]]
    assert ids == ["mine"] or not lines
