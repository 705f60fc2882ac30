"""Limits of a webhook reply: headers, body and number of chunks."""

import asyncio
import ssl
from contextlib import suppress

import httpcore
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.outbound.client import MAX_BYTES, Client, Reply, Unreachable
from tests.examples import examples
from tests.outbound.receivers import receiver

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading those of the system takes longer than a request


def send(url="http://hooks.example/", client=None):
    return asyncio.run((client or Client(allow_private=True)).send("POST", url, body=b"{}"))


def reply_of(*pieces):
    """Return the client's reply to these pieces, each from a read of its own."""
    client = Client(allow_private=True, certificates=NO_CERTIFICATES)
    client.plain = httpcore.AsyncMockBackend(list(pieces))
    return send("http://127.0.0.1/", client)


@pytest.mark.parametrize(
    "forever",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n",
        b"HTTP/1.1 199\r\n\r\n" * 1_000,
        b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 2_000,
        b"x",
    ],
)
def test_endless_data_before_a_reply_is_abandoned(forever):
    sent = []

    def endless(connection, request):
        with suppress(OSError):
            while True:
                connection.sendall(forever)
                sent.append(len(forever))

    with receiver(endless) as there, pytest.raises(Unreachable) as failed:
        send(f"http://127.0.0.1:{there.port}/")
    assert "within 15 seconds" not in str(failed.value)


def test_a_head_in_tiny_pieces_is_given_up():
    with pytest.raises(Unreachable, match="too long"):
        reply_of(*[bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 1_000 + b"\r\n\r\n"])


@pytest.mark.parametrize("body", [
    pytest.param([b"1\r\nx\r\n" * 10_000], id="many chunks at once"),
    pytest.param([b"1\r\nx\r\n"] * 10_000, id="a chunk at a time"),
    pytest.param([b"1;" + b"e" * 4_000 + b"\r\nx\r\n"] * 1_000, id="long extensions"),
])  # fmt: skip
def test_of_a_body_in_tiny_chunks_the_beginning_is_read(body):
    reply = reply_of(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *body)
    assert reply.status == 200
    assert reply.body == b"x" * len(reply.body)
    assert 10 < len(reply.body) < 1_000


def test_early_hints_and_a_head_of_12_kib_are_read():
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    assert reply_of(b"HTTP/1.1 100 Continue\r\n\r\n" + 5 * hints + OK).body == b"ok"
    reply = reply_of(OK.replace(b"\r\n\r\n", b"\r\nX-A: %s\r\n\r\n" % (b"a" * 12_000)))
    assert (reply.body, len(reply.headers["x-a"])) == (b"ok", 12_000)


def test_the_longest_body_is_read_whole_in_segments_and_in_chunks():
    segments = [b"x" * 1_024] * (MAX_BYTES // 1_024)
    head = b"HTTP/1.1 200 OK\r\n"
    assert reply_of(head + b"Content-Length: %d\r\n\r\n" % MAX_BYTES, *segments).body == b"x" * MAX_BYTES
    chunks = [b"400\r\n%s\r\n" % segment for segment in segments]
    assert reply_of(head + b"Transfer-Encoding: chunked\r\n\r\n", *chunks, b"0\r\n\r\n").body == b"x" * MAX_BYTES


HEADS = st.builds(
    b"HTTP/1.1 %d X\r\n%s: %s\r\nContent-Length: %d\r\n\r\n".__mod__,
    st.tuples(st.integers(0, 1_200), st.binary(max_size=20), st.binary(max_size=40), st.integers(0, 9)),
)


@given(st.lists(st.binary(max_size=60) | HEADS | st.just(OK), max_size=4))
@settings(max_examples=examples(900), deadline=None)
def test_any_reply_is_parsed_or_unreachable(pieces):
    with suppress(Unreachable):
        assert isinstance(reply_of(*pieces), Reply)
