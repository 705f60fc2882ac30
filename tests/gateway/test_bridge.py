import asyncio
import gzip
import json
import logging
from io import BytesIO
from unittest.mock import Mock

import brotli
import pytest
from django.db import OperationalError
from django.http import StreamingHttpResponse
from django.test import RequestFactory

from config import asgi
from config.server.bridge import Exchange, broken_replies
from config.server.thread_pools import Threads
from kit.http.errors import ServiceUnavailable
from kit.http.headers import request_id
from kit.http.rendering import CompressionMiddleware
from tests.gateway.wire import exchanged

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/v1/é",
    "query_string": b"a=1",
    "http_version": "1.1",
    "headers": [(b"x-one", b"1"), (b"content-length", b"4")],
}


class Streamed(list):
    streaming = True
    closed = False

    def close(self):
        self.closed = True


def bridged(wsgi, body=b"sent", **scope):
    """Return the requests and replies of a WSGI application behind the bridge."""
    sent = []

    async def exchange():
        async def send(message):
            sent.append(message)

        made = Exchange(wsgi, {**SCOPE, **scope}, BytesIO(body), send)
        reply = await asyncio.get_running_loop().run_in_executor(None, made.run)
        if reply is not None:
            await made.answer(reply)

    asyncio.run(exchange())
    return sent


def echo(environ, start_response):
    start_response("201 Created", [("X-Two", "2")])
    return [
        environ["PATH_INFO"].encode("latin-1"),
        b" ",
        environ["wsgi.input"].read(4),
        environ["HTTP_X_ONE"].encode(),
    ]


def test_the_application_gets_the_request_and_its_reply_leaves_whole():
    head, body = bridged(echo)
    assert (head["status"], body["body"]) == (201, "/v1/é sent1".encode())
    assert head["headers"] == [(b"x-two", b"2"), (b"content-length", b"12")]


def test_a_server_that_takes_a_reply_at_once_gets_it_so_and_for_head_without_its_body():
    taken = []

    def respond(*reply):
        taken.append(reply)
        return True

    for method, body in (("POST", "/v1/é sent1".encode()), ("HEAD", b"")):
        assert bridged(echo, method=method, extensions={"respond": respond}) == [], method
        assert taken.pop() == (201, b"x-two: 2\r\ncontent-length: 12\r\n", body), method
        assert taken == [], method
    assert len(bridged(echo, extensions={"respond": lambda *reply: False})) == 2


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_reply_that_has_no_body_tells_no_length(status):
    def nothing(environ, start_response):
        start_response(status, [])
        return []

    assert bridged(nothing)[0]["headers"] == []


def test_a_streamed_reply_is_sent_chunk_by_chunk_and_closed():
    streamed = Streamed([b"one", b"two"])

    def stream(environ, start_response):
        start_response("200 OK", [])
        return streamed

    head, *chunks = bridged(stream)
    assert head["headers"] == []
    assert [(chunk["body"], chunk.get("more_body", False)) for chunk in chunks] == [
        (b"one", True),
        (b"two", True),
        (b"", False),
    ]
    assert streamed.closed


def test_a_failure_of_the_application_is_the_servers_to_answer():
    with pytest.raises(RuntimeError):
        bridged(Mock(side_effect=RuntimeError))


WHOLE = b"first\n" * 1_000 + b"last\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
# The server has a shorter path for requests without a query.
each_path = pytest.mark.parametrize("path", ["/elsewhere", "/elsewhere?a=1"], ids=["whole", "in parts"])
each_failure = pytest.mark.parametrize("failure", [RuntimeError("no rows"), ServiceUnavailable("no database")])


def content(failure):
    yield WHOLE[:6_000]
    if failure is not None:
        raise failure
    yield WHOLE[6_000:]


@pytest.fixture
def ask(monkeypatch):
    """Send a GET for a streamed reply and return all bytes until the connection ends."""

    def send(path, failure=None, coding="identity"):
        def wsgi(environ, start_response):
            request = RequestFactory().get(path, headers={"Accept-Encoding": environ["HTTP_ACCEPT_ENCODING"]})
            response = StreamingHttpResponse(content(failure), headers={"X-Request-Id": "req_of_the_test"})
            response.may_be_compressed = True
            response = CompressionMiddleware(lambda _: response)(request)
            start_response("200 OK", list(response.items()))
            return response

        async def application(scope, receive, send):
            monkeypatch.setattr(asgi, "ordinary", Threads(wsgi, "ordinary", 1, share=1, patience=10))
            await asgi.serve_with_django(scope, receive, send)

        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {coding}\r\nConnection: close\r\n\r\n"
        return exchanged(application, head.encode(), last=b"")

    return send


def body_of(received):
    """Return the bytes of a chunked body that were received."""
    rest, whole = received.partition(b"\r\n\r\n")[2], b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        whole, rest = whole + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return whole


@each_path
@pytest.mark.parametrize(
    ("coding", "decode"), [("identity", bytes), ("gzip", gzip.decompress), ("br", brotli.decompress)]
)
def test_a_reply_that_is_complete_ends_with_the_last_chunk(ask, path, coding, decode):
    received = ask(path, coding=coding)
    assert received.endswith(LAST_CHUNK)
    assert decode(body_of(received)) == WHOLE


@each_failure
@each_path
@pytest.mark.parametrize("coding", ["identity", "gzip", "br"])
def test_a_reply_that_fails_half_way_never_ends_with_the_last_chunk(ask, path, failure, coding):
    received = ask(path, failure, coding)
    assert received.startswith(b"HTTP/1.1 200 ")
    assert received.count(b"HTTP/1.1") == 1
    assert LAST_CHUNK not in received
    if coding == "identity":
        assert body_of(received) == WHOLE[:6_000]
    if coding == "gzip":
        with pytest.raises(EOFError):
            gzip.decompress(body_of(received))
    if coding == "br":
        decoder = brotli.Decompressor()
        assert decoder.process(body_of(received)) == WHOLE[:6_000]
        assert not decoder.is_finished()


@each_failure
@each_path
def test_the_failure_is_logged_once_with_the_id_of_the_request_and_counted(ask, path, failure, caplog):
    before = broken_replies.totals()[0]
    with caplog.at_level(logging.ERROR):
        ask(path, failure)
    [record] = caplog.records
    [_, error, _] = record.exc_info
    assert str(error) == "The reply to GET /elsewhere broke off after 6000 bytes of its body."
    assert error.__cause__ is failure
    assert error.request_id == "req_of_the_test"
    assert broken_replies.totals()[0] == before + 1


@pytest.fixture
def fail(monkeypatch):
    """Send a POST whose thread fails with an exception; return the reply's status, headers and body."""

    def send(failure, path, *lines):
        async def serve(*args):
            raise failure

        monkeypatch.setattr(asgi.ordinary, "serve", serve)
        head = (f"POST /v1{path} HTTP/1.1".encode(), b"Host: localhost", b"Content-Length: 2", *lines)
        received = exchanged(asgi.serve_with_django, b"\r\n".join(head) + b"\r\n\r\n{}", last=b"")
        head, _, body = received.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines), json.loads(body)

    return send


@each_path
def test_a_database_that_is_away_is_a_503(fail, path):
    status, headers, body = fail(OperationalError("server closed the connection"), path)
    assert (status, body["error"]["code"]) == (503, "service_unavailable")
    assert headers["retry-after"] == "1"
    assert "x-ratelimit-limit" in headers


@each_path
@pytest.mark.parametrize("lines", [(), (b"X-Request-Id: mine",)], ids=["own id", "client's id"])
def test_anything_else_is_a_500_that_is_logged_once_with_the_id_of_the_request(fail, path, lines, caplog):
    failure, ids = RuntimeError("unforeseen"), []
    caplog.handler.addFilter(lambda record: ids.append(request_id.get()) or True)
    with caplog.at_level(logging.ERROR):
        status, headers, body = fail(failure, path, b"Accept: application/problem+json", *lines)
    assert (status, headers["content-type"]) == (500, "application/problem+json")
    assert (body["status"], body["error"]["code"]) == (500, "internal_error")
    assert [record.exc_info[1] for record in caplog.records] == [failure]
    assert ids == [headers["x-request-id"]]
    assert ids == ["mine"] or not lines
