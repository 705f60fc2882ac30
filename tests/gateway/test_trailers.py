"""Trailer fields of a chunked request are not headers; the same size limits apply."""

import pytest

from config.server.framing import MAX_HEAD_BYTES
from tests.gateway.wire import Echo, chunked, exchanged, post, statuses

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


def test_a_trailer_without_an_end_is_refused():
    application = Echo()
    assert statuses(exchanged(application, *[ENDLESS[at : at + 10_000] for at in range(0, len(ENDLESS), 10_000)])) == [
        400
    ]
    assert application.done == []


def test_an_extension_of_a_chunk_without_an_end_is_refused():
    head = chunked().partition(b"\r\n\r\n")[0] + b"\r\n\r\n4;"
    assert statuses(exchanged(Echo(), head, *[b"a" * 10_000] * 8)) == [400]
