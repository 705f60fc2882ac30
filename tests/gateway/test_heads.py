"""Limits on a request's head, anywhere in a connection's stream (config.server.protocol)."""

import asyncio
import re
from typing import Any

import orjson
import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from config.server.framing import MAX_HEAD_BYTES
from config.server.protocol import BoundedProtocol
from tests.gateway.wire import settled

BODY = bytes(MAX_HEAD_BYTES + 10_000)
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """A transport that stores what the protocol writes."""

    def __init__(self) -> None:
        self.received = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        self.received += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def get_extra_info(self, name: str) -> Any:
        return None

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def application(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def replies(*reads: bytes) -> list[bytes]:
    """Return the replies to these reads."""

    async def exchange() -> bytes:
        config = Config(application, http=BoundedProtocol, log_config=None)
        config.load()
        protocol = BoundedProtocol(config=config, server_state=ServerState(), app_state={})
        client: Any = Client()
        protocol.connection_made(client)
        for read in reads:
            if not client.closed:
                protocol.data_received(read)
            await settled()
        return client.received

    return asyncio.run(exchange()).split(b"HTTP/1.1 ")[1:]


def statuses(*reads: bytes) -> list[int]:
    return [int(reply[:3]) for reply in replies(*reads)]


@pytest.mark.parametrize("cut", [1, 10, 20, len(GET) - 1])
def test_a_head_is_separated_from_a_request_in_the_same_read(cut):
    assert statuses(POST + GET[:cut], GET[cut:]) == [200, 200]


def test_pipelined_requests_have_a_head_each():
    many = GET * (MAX_HEAD_BYTES // len(GET) + 10)
    assert set(statuses(many + GET[:10], GET[10:])) == {200}


def test_a_body_of_any_length_is_no_part_of_a_head():
    parts = [POST[at : at + 10_000] for at in range(0, len(POST), 10_000)]
    assert statuses(*parts, GET) == [200, 200]


@pytest.mark.parametrize(
    "sent", [b"FOO / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"\x16\x03\x01\x02"]
)
def test_malformed_requests_get_an_error_envelope_with_a_request_id(sent):
    [reply] = replies(sent)
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"400")
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
    assert statuses(*reads)[-1] == 400
