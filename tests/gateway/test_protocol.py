import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest

from config.server.requests import MAX_HEAD_BYTES
from kit.http.bodies import read_body
from licensing.access.event_loop.application import respond
from tests.gateway.wire import Echo, exchanged, post, served, settled, statuses, until

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
    received = exchanged(echo, *packets, last=post(b"/a", b"last", b"Connection: close"))
    return [part.rpartition(b"\r\n\r\n")[2].decode() for part in received.split(END)[:-1]]


REQUEST = post()
HALVES = len(REQUEST) - 2
HEAD = len(REQUEST) - 4


@pytest.mark.parametrize("cuts", [(), (5,), (HEAD,), (HALVES,), (5, HEAD, HALVES), tuple(range(len(REQUEST)))])
def test_a_request_in_pieces_is_the_same_request(cuts: tuple[int, ...]):
    packets = [REQUEST[begin:end] for begin, end in pairwise((0, *cuts, len(REQUEST)))]
    assert answers(packets) == ["POST /a  body", "POST /a  last"]


@pytest.mark.parametrize("cut", [0, 10, HEAD + 1, HALVES + 1])
def test_requests_sent_at_once_are_answered_in_turn(cut: int):
    both = post(body=b"first") + REQUEST + REQUEST
    at = len(post(body=b"first")) + cut
    assert answers([both[:at], both[at:]]) == ["POST /a  first", *["POST /a  body"] * 2, "POST /a  last"]


def test_unusual_requests_are_parsed_like_plain_ones():
    chunked = b"Host: localhost\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
    replies = {
        post(b"/a%20b?c=d"): "POST /a b c=d body",
        post(b"http://localhost/a"): "POST /a  body",
        b"GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n": "GET /a  ",
        b"POST /a HTTP/1.1\r\n" + chunked: "POST /a  body",
    }
    assert answers([*replies]) == [*replies.values(), "POST /a  last"]


def test_a_client_that_expects_100_continue_gets_it():
    whole = post(b"/a", b"body", b"Expect: 100-continue")
    assert answers([whole[:-4], whole[-4:]]) == ["POST /a  body", "POST /a  last"]


BODY = bytes(MAX_HEAD_BYTES + 10_000)
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("cut", [1, 10, 20, len(GET) - 1])
def test_a_head_is_separated_from_a_request_in_the_same_read(cut):
    assert statuses(exchanged(Echo(), POST + GET[:cut], GET[cut:])) == [200, 200, 200]


def test_pipelined_requests_have_a_head_each():
    many = GET * (MAX_HEAD_BYTES // len(GET) + 10)
    assert set(statuses(exchanged(Echo(), many + GET[:10], GET[10:]))) == {200}


def test_a_body_of_any_length_is_no_part_of_a_head():
    parts = [POST[at : at + 10_000] for at in range(0, len(POST), 10_000)]
    assert statuses(exchanged(Echo(), *parts, GET)) == [200, 200, 200]


LINES = b"".join(b"X-%d: %b\r\n" % (number, b"a" * 1000) for number in range(70))
LARGE = {
    "in one read": [GET[:-2] + LINES + b"\r\n"],
    "line by line": [GET[:-2], *LINES.splitlines(keepends=True), b"\r\n"],
    "a header without end": [GET[:-2] + b"X: ", *[b"a" * 1000] * 70],
    "a header without end, behind a body": [POST + GET[:-2] + b"X: ", *[b"a" * 1000] * 70],
}


@pytest.mark.parametrize("reads", LARGE.values(), ids=LARGE)
def test_a_head_of_more_than_64_kib_is_refused(reads):
    assert statuses(exchanged(Echo(), *reads))[-1] == 400


async def test_no_reply_is_made_for_a_client_that_has_not_read_the_last_ones():
    size, requests, made = 1024 * 1024, 60, []

    async def application(scope, receive, send):
        made.append(scope)
        await respond(scope, send, 200, b"content-length: %d\r\n" % size, bytes(size))

    async with served(application) as (address, connections):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(GET * requests)
        await until(lambda: any(connection.flow.write_paused for connection in connections.open))
        await settled()
        assert len(made) < requests / 2
        received = 0
        while received < requests * size and (part := await reader.read(size)):
            received += len(part)
        writer.close()
    assert received >= requests * size
    assert len(made) == requests
