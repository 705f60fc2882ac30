"""Request framing: nothing that two servers could read differently is served.

Trailer fields of a chunked request are not headers; the same size limits apply.
"""

import asyncio

import pytest

from config.server.requests import MAX_HEAD_BYTES
from licensing.access.event_loop.application import respond
from tests.gateway.wire import Echo, chunked, exchanged, post, read_all, served, settled, statuses

HEAD = b"POST /a HTTP/1.1\r\nHost: localhost\r\n"
CODING = b"Transfer-Encoding: chunked\r\n"
BODY = b"4\r\nbody\r\n0\r\n\r\n"
REFUSED = {
    "another coding before chunked": (501, chunked(coding=b"gzip, chunked")),
    "another coding in its own line": (501, HEAD + b"Transfer-Encoding: gzip\r\n" + CODING + b"\r\n" + BODY),
    "identity, then chunked": (501, chunked(coding=b"identity, chunked")),
    "chunked twice": (400, chunked(coding=b"chunked, chunked")),
    "another coding behind chunked": (400, chunked(coding=b"chunked, gzip")),
    "another coding alone": (400, chunked(coding=b"gzip")),
    "identity alone": (400, chunked(coding=b"identity")),
    "a parameter": (400, chunked(coding=b"chunked;q=1")),
    "no coding": (400, chunked(coding=b"")),
    "in HTTP/1.0": (400, chunked().replace(b"HTTP/1.1", b"HTTP/1.0")),
    "beside Content-Length": (400, HEAD + b"Content-Length: 4\r\n" + CODING + b"\r\n" + BODY),
    "before Content-Length": (400, HEAD + CODING + b"Content-Length: 4\r\n\r\n" + BODY),
    "a length that is none": (400, HEAD + b"Content-Length: +4\r\n\r\nbody"),
    "two lengths": (400, HEAD + b"Content-Length: 4\r\nContent-Length: 3\r\n\r\nbody"),
}


@pytest.mark.parametrize("path", [b"/a", b"/a%20b?c=d"])
@pytest.mark.parametrize(("status", "sent"), REFUSED.values(), ids=REFUSED)
def test_framing_in_doubt_is_refused_and_ends_the_connection(path, status, sent):
    application = Echo()
    assert statuses(exchanged(application, sent.replace(b"/a ", path + b" "))) == [status]
    assert application.done == []


@pytest.mark.parametrize("coding", [b"chunked", b"Chunked", b" chunked "])
def test_chunked_alone_is_served(coding):
    assert statuses(exchanged(Echo(), chunked(coding=coding))) == [200, 200]


def test_upgrade_to_another_protocol_is_passed_over():
    upgrade = b"GET /a HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    application = Echo()
    assert statuses(exchanged(application, upgrade + post(b"/b"))) == [200, 200, 200]
    assert application.done == ["/a", "/b", "/last"]


OFFER = HEAD + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


@pytest.mark.parametrize(
    "request_with_body",
    [OFFER + b"Content-Length: 4\r\n\r\nbody", OFFER + b"Transfer-Encoding: chunked\r\n\r\n" + BODY],
    ids=["length", "chunks"],
)
@pytest.mark.parametrize("at_once", [1, 7, 10_000])
def test_a_body_behind_an_offer_of_another_protocol_is_read(request_with_body, at_once):
    application = Echo()
    sent = request_with_body + post(b"/b")
    pieces = [sent[at : at + at_once] for at in range(0, len(sent), at_once)]
    received = exchanged(application, *pieces)
    assert statuses(received) == [200, 200, 200]
    assert b"</a body " in received
    assert application.done == ["/a", "/b", "/last"]


def test_codings_beside_an_offer_of_another_protocol_are_checked():
    application = Echo()
    sent = OFFER + b"Transfer-Encoding: gzip\r\n\r\n" + BODY
    assert statuses(exchanged(application, sent)) == [400]


class Refusal:
    """An application that answers without reading the body."""

    async def __call__(self, scope, receive, send):
        await respond(scope, send, 401, b"content-length: 0\r\n", b"")


def test_a_client_that_is_refused_keeps_its_connection_only_if_its_body_came_unasked():
    """A proxy would take the following bytes for a request, and this server for the body."""
    waiting = HEAD + b"Expect: 100-continue\r\nContent-Length: 40\r\n\r\n"
    received = exchanged(Refusal(), waiting)
    assert statuses(received) == [401]
    assert b"connection: close\r\n" in received
    assert statuses(exchanged(Refusal(), post(b"/a", b"Expect: 100-continue"))) == [401, 401]


GARBAGE = b"\x00garbage\r\n\r\n"
BROKEN = b"POST /broken HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n"
ORDINARY = b"/a?b=c"  # it has a query, so it is not a WholeRequest


@pytest.mark.parametrize("paths", [[b"/a"], [ORDINARY], [b"/a", b"/b", ORDINARY], [ORDINARY, b"/b", b"/a"]])
@pytest.mark.parametrize("garbage", [GARBAGE, BROKEN])
def test_requests_have_their_replies_before_what_follows_them_is_refused(paths, garbage):
    application = Echo()
    received = exchanged(application, b"".join(map(post, paths)) + garbage, last=b"")
    assert statuses(received) == [200] * len(paths) + [400]
    assert application.done == [path.partition(b"?")[0].decode() for path in paths]


def test_requests_behind_garbage_are_not_read():
    application = Echo()
    assert statuses(exchanged(application, post() + GARBAGE, post(b"/b"))) == [200, 400]
    assert application.done == ["/a"]


def test_a_slow_request_has_its_reply_before_what_follows_it_is_refused():
    begun, may_end, answered = asyncio.Event(), asyncio.Event(), []

    async def slow(scope, receive, send):
        begun.set()
        await may_end.wait()
        answered.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def exchange():
        async with served(slow) as (address, _), asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(post())
            await begun.wait()
            writer.write(GARBAGE)
            await settled()
            may_end.set()
            return await read_all(reader)

    assert statuses(asyncio.run(exchange())) == [200, 400]
    assert answered == ["/a"]


def test_a_body_that_breaks_off_into_garbage_is_not_carried_out():
    application = Echo()
    assert statuses(exchanged(application, chunked()[:-5], b"garbage")) == [400]
    assert application.done == []


TRAILERS = [b"X-Forwarded-For: 10.9.9.9", b"Authorization: Bearer key"]


def cut(data: bytes) -> list[bytes]:
    """Split the data in two before the trailers."""
    at = data.index(b"0\r\n") + 3
    return [data[:at], data[at:]]


@pytest.mark.parametrize("path", [b"/a", b"/a%20b?c=d"])
@pytest.mark.parametrize("pieces", [lambda data: [data], cut, lambda data: [bytes([byte]) for byte in data]])
def test_trailers_are_not_treated_as_headers(path, pieces):
    received = exchanged(Echo(), *pieces(chunked(path, trailers=TRAILERS)))
    assert statuses(received) == [200, 200]
    assert b"body host,transfer-encoding>" in received


def test_trailers_of_one_request_are_not_those_of_the_next():
    both = chunked(trailers=TRAILERS) + post(b"/b")
    assert b"</b body host,content-length>" in exchanged(Echo(), both)


MANY = [b"X-%d: a" % number for number in range(100)]
LARGE = [b"X-%d: %b" % (number, b"a" * 1000) for number in range(70)]
ENDLESS = chunked()[:-2] + b"X: " + b"a" * MAX_HEAD_BYTES


@pytest.mark.parametrize("path", [b"/a", b"/a?c=d"])
@pytest.mark.parametrize("trailers", [MANY, LARGE])
@pytest.mark.parametrize("pieces", [lambda data: [data], cut])
def test_trailers_beyond_the_bounds_of_a_head_are_refused(path, trailers, pieces):
    application = Echo()
    assert statuses(exchanged(application, *pieces(chunked(path, trailers=trailers)))) == [400]
    assert application.done == []


def test_trailers_and_extensions_of_chunks_without_an_end_are_refused():
    application = Echo()
    pieces = [ENDLESS[at : at + 10_000] for at in range(0, len(ENDLESS), 10_000)]
    assert statuses(exchanged(application, *pieces)) == [400]
    assert application.done == []
    head = chunked().partition(b"\r\n\r\n")[0] + b"\r\n\r\n4;"
    assert statuses(exchanged(Echo(), head, *[b"a" * 10_000] * 8)) == [400]
