import re

import orjson
import pytest

from config.server.framing import MAX_HEAD_BYTES
from tests.gateway.wire import Echo, exchanged, statuses

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


@pytest.mark.parametrize(
    "sent", [b"FOO / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"\x16\x03\x01\x02"]
)
def test_malformed_requests_get_an_error_envelope_with_a_request_id(sent):
    received = exchanged(Echo(), sent)
    assert statuses(received) == [400]
    head, _, body = received.partition(b"\r\n\r\n")
    assert re.search(rb"(?m)^x-request-id: req_[0-9a-f]{32}\r?$", head)
    assert re.search(rb"(?m)^x-ratelimit-limit: 60\r?$", head)
    assert re.search(rb"(?m)^x-ratelimit-remaining: \d+\r?$", head)
    assert re.search(rb"(?m)^x-ratelimit-reset: \d{10}\r?$", head)
    assert orjson.loads(body)["error"]["code"] == "invalid_request"


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
