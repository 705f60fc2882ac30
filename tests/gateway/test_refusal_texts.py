import asyncio

import orjson
import pytest

from tests.gateway.wire import Echo, chunked, exchanged, read_all, served, statuses

HEAD = b"POST /v1/content HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
UNREADABLE = {
    "a size that is none": (CHUNKED + b"zz\r\n{}\r\n", "chunk size. A chunk is its size in hexadecimal, CRLF, "),
    "no CRLF behind a chunk": (CHUNKED + b"2\r\n{}0\r\n\r\n", "A chunk is its size in hexadecimal, CRLF, "),
    "both lengths": (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "Send one of the two."),
    "a length that is none": (
        HEAD + b"Content-Length: abc\r\n\r\n{}",
        "Send it once: the length of the body in bytes.",
    ),
    "two lengths": (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "the length of the body in bytes."),
    "an unknown coding": (chunked(coding=b"chunked, gzip"), "The only transfer coding served is chunked."),
    "an unknown method": (
        b"FOO / HTTP/1.1\r\n\r\n",
        "Begin with GET, POST, PATCH, DELETE, HEAD or OPTIONS, in capitals.",
    ),
    "a method in lower case": (b"post / HTTP/1.1\r\n\r\n", "Begin with GET, POST, "),
    "https": (b"\x16\x03\x01\x02\x00\x01\x00\x01", "The request is not HTTP but HTTPS. Use an address with http://"),
    "a space in the path": (b"GET /v1/a b HTTP/1.1\r\n\r\n", "Percent-encode spaces in the path, as in %20."),
    "a path outside of ASCII": (
        "GET /é HTTP/1.1\r\n\r\n".encode(),
        "Percent-encode spaces and characters outside ASCII",
    ),
    "a header without colon": (
        b"GET / HTTP/1.1\r\nBad Header\r\n\r\n",
        "A header is `Name: value` in a line of its own",
    ),
    "a space before the colon": (b"GET / HTTP/1.1\r\nX-A : 1\r\n\r\n", "without a space before the colon."),
    "lines without CR": (b"GET / HTTP/1.1\nHost: a\n\n", "The request line ends with HTTP/1.1, then CRLF."),
}


def message_of(received: bytes) -> str:
    head, _, body = received.partition(b"\r\n\r\n")
    error = orjson.loads(body)["error"]
    assert (head.split()[1], error["code"]) == (b"400", "invalid_request")
    return error["message"]


@pytest.mark.parametrize(("sent", "hint"), UNREADABLE.values(), ids=UNREADABLE)
def test_refusals_of_malformed_requests_say_why_and_what_to_do(sent: bytes, hint: str):
    message = message_of(exchanged(Echo(), sent))
    assert hint in message
    assert message.endswith(".")


def half_closed(application: Echo, *packets: bytes) -> bytes:
    """Return what the server sends to a client that ends its half of the connection."""

    async def exchange() -> bytes:
        async with served(application) as (address, _), asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(*address)
            for packet in packets:
                writer.write(packet)
                await asyncio.sleep(0.005)
            writer.write_eof()
            received = await read_all(reader)
            writer.close()
            return received

    return asyncio.run(exchange())


@pytest.mark.parametrize(
    "packets",
    [
        (HEAD + b"Content-Length: 200\r\n\r\n{}",),
        (HEAD + b"Content-Length: 200\r\n\r\n", b"{}"),
        (CHUNKED + b"5\r\n{}",),
        (HEAD + b"Content-",),
        (HEAD.replace(b"/v1", b"/%761") + b"Content-Length: 200\r\n\r\n{}",),
    ],
)
def test_a_request_that_ends_too_early_is_answered(packets):
    application = Echo()
    assert message_of(half_closed(application, *packets)) == (
        "The request ended before its head or body was complete. Compare Content-Length with the body."
    )
    assert application.done == []


def test_the_end_between_requests_is_not_an_error():
    whole = HEAD + b"Content-Length: 2\r\n\r\n{}"
    assert statuses(half_closed(Echo(), b"")) == []
    assert statuses(exchanged(Echo(), whole)) == [200, 200]
