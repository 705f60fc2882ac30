import gzip
import logging

import brotli
import pytest
from django.http import StreamingHttpResponse
from django.test import RequestFactory

from config import asgi
from config.server.bridge import broken_replies
from config.server.threads import Threads
from kit.http.compression import CompressionMiddleware
from kit.http.errors import ServiceUnavailable
from tests.gateway.wire import exchanged

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
