"""Requests split into any packets are read identically and answered in order."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from kit.http.bodies import read_body
from licensing.access.event_loop.application import respond
from tests.gateway.wire import exchanged, settled

END = b"|"


async def echo(scope, receive, send):
    """Echo requests; the first is the slowest, to reveal replies out of order."""
    body = await read_body(scope, receive, 1000)
    if body == b"first":
        await settled()
    told = b" ".join((scope["method"].encode(), scope["path"].encode(), scope["query_string"], body)) + END
    await respond(scope, send, 200, b"content-length: %d\r\n" % len(told), told)


def answers(packets: Sequence[bytes]) -> list[str]:
    """Send the packets one by one and return the reply to each request."""

    received = exchanged(echo, *packets, last=post(b"last", b"Connection: close"))
    return [part.rpartition(b"\r\n\r\n")[2].decode() for part in received.split(END)[:-1]]


def post(body: bytes, *headers: bytes, path: bytes = b"/a/b") -> bytes:
    lines = (b"POST %b HTTP/1.1" % path, b"Host: localhost", b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


REQUEST = post(b"body")
HALVES = len(REQUEST) - 2
HEAD = len(REQUEST) - 4


@pytest.mark.parametrize("cuts", [(), (5,), (HEAD,), (HALVES,), (5, HEAD, HALVES), tuple(range(len(REQUEST)))])
def test_a_request_in_pieces_is_the_same_request(cuts: tuple[int, ...]):
    packets = [REQUEST[begin:end] for begin, end in pairwise((0, *cuts, len(REQUEST)))]

    assert answers(packets) == ["POST /a/b  body", "POST /a/b  last"]


@pytest.mark.parametrize("cut", [0, 10, HEAD + 1, HALVES + 1])
def test_requests_sent_at_once_are_answered_in_turn(cut: int):
    both = post(b"first") + REQUEST + REQUEST
    at = len(post(b"first")) + cut

    assert answers([both[:at], both[at:]]) == ["POST /a/b  first", *["POST /a/b  body"] * 2, "POST /a/b  last"]


def test_unusual_requests_are_parsed_like_plain_ones():
    chunked = (
        b"POST /a/b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
    )
    packets = [
        post(b"body", path=b"/a%20b?c=d"),
        post(b"body", path=b"http://localhost/a"),
        b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        chunked,
    ]

    assert answers(packets) == [
        "POST /a b c=d body",
        "POST /a  body",
        "GET /a  ",
        "POST /a/b  body",
        "POST /a/b  last",
    ]


def test_a_client_that_expects_100_continue_gets_it():
    whole = post(b"body", b"Expect: 100-continue")

    assert answers([whole[:-4], whole[-4:]]) == ["POST /a/b  body", "POST /a/b  last"]
