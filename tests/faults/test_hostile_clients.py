"""Slow, endless or disconnecting clients do not delay others."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from tests.faults.harness import Deployment, deployed

pytestmark = pytest.mark.faults

UNHINDERED = 9  # seconds; enough for a server to answer, and less than HEAD_SECONDS


@pytest.fixture
def connect(server: Deployment) -> Callable[[bytes], socket.socket]:
    """Open a connection and send these bytes."""
    address = urlsplit(server.url)

    def send(data: bytes) -> socket.socket:
        opened = socket.create_connection((address.hostname, address.port), timeout=60)
        opened.sendall(data)
        return opened

    return send


def head(line: str, key: str, *headers: str) -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", *headers, "", ""]
    return "\r\n".join(lines).encode()


def read_all(opened: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    return b"".join(iter(lambda: opened.recv(65_536), b""))


def titles(server: Deployment, key: str) -> list[str]:
    with server.client(key, timeout=UNHINDERED) as client:
        return [item["title"] for item in client.get("/v1/content").json()["data"]]


def test_endless_heads_and_thousands_of_headers_or_keys_are_refused_at_once(server, key, connect) -> None:
    with connect(b"GET /v1/content HTTP/1.1\r\nHost: localhost\r\n") as opened:
        with pytest.raises(ConnectionError):  # more than all buffers in between hold
            opened.sendall(b"X: aaaaaaaa\r\n" * 2_000_000)
        assert titles(server, key) == []

    with connect(head("GET /v1/content", key, *[f"X-{number}: a" for number in range(200)])) as opened:
        reply = read_all(opened)
    assert reply.startswith(b"HTTP/1.1 400")
    assert b'"code":"invalid_request"' in reply

    keys = ",".join(f'"k{number}":1' for number in range(30_000))
    with server.client(key, timeout=UNHINDERED) as client:
        reply = client.post("/v1/access/check", content="{" + keys + ',"k0":2}')
        assert (reply.status_code, reply.json()["error"]["param"]) == (400, "k0")


def test_stalled_uploads_hold_up_neither_checks_nor_writes_nor_probes(server, key, connect) -> None:
    stalled = head("POST /v1/content", key, "Content-Length: 100") + b'{"title'
    with ExitStack() as stack, server.client(key, timeout=UNHINDERED) as client:
        for _ in range(40):
            stack.enter_context(connect(stalled))
        item = client.post("/v1/content", json={"title": "Meanwhile"})
        assert item.status_code == 201
        assert client.post("/v1/access/check", json={"contentId": item.json()["id"], "requester": "r"}).is_success
        assert client.get("/livez").is_success


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(("Content-Length: 1000", b'{"title":"truncated"}'), id="with a length"),
        pytest.param(("Transfer-Encoding: chunked", b'15\r\n{"title":"truncated"}\r\n'), id="chunked"),
    ],
)
def test_a_body_that_ends_too_early_is_not_carried_out(server, key, connect, body) -> None:
    header, content = body
    with connect(head("POST /v1/content", key, header) + content) as opened:
        opened.shutdown(socket.SHUT_WR)
        read_all(opened)  # once the server has seen the end, it closes the connection
    with server.client(key) as client:
        client.create("/v1/content", title="Written after it")
    assert titles(server, key) == ["Written after it"]


def test_a_header_spelt_with_underscores_cannot_choose_the_address(server, key, connect) -> None:
    with server.client(key) as client:
        bound = client.post("/v1/api-keys", json={"name": "bound", "type": "secret", "allowedIps": ["10.9.9.9"]})
    headers = ("X-Forwarded-For: 203.0.113.7", "X_Forwarded_For: 10.9.9.9", "Connection: close")
    with connect(head("GET /v1/content", bound.json()["key"], *headers)) as opened:
        reply = read_all(opened)
    assert reply.startswith(b"HTTP/1.1 403")
    assert b"203.0.113.7" in reply


def test_exports_that_nobody_reads_give_their_threads_back(tmp_path) -> None:
    with deployed(tmp_path, SEND_SECONDS="1", THREADS="4", HEAVY_THREADS="1") as server:
        [(key, other_key)] = server.accounts(1)
        with server.client(key) as client:
            body = {"requester": "org_acme", "checks": [{"contentId": client.item()}] * 100}
            for _ in range(150):  # more than a connection's buffers hold
                assert client.post("/v1/access/check/batch", json=body).status_code == 200
        with socket.create_connection(("127.0.0.1", server.port)) as unread:
            unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            unread.sendall(head("GET /v1/access/decisions?format=jsonl", key))
            assert unread.recv(15, socket.MSG_WAITALL) == b"HTTP/1.1 200 OK"
            with server.client(other_key) as client:
                reply = client.get("/v1/access/decisions?format=jsonl")
                assert (reply.status_code, len(reply.text.splitlines())) == (200, 15_000)
