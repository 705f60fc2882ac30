"""Trailer fields are not headers on either request path, directly or through a proxy."""

import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import Reply
from tests.services import free_port

pytestmark = pytest.mark.faults

ALLOWED, CLIENT = "10.9.9.9", "203.0.113.9"
CHECK, CONTENT = "/v1/access/check", "/v1/content"
Send = Callable[[bytes], Reply]

CONFIGURATION = """
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
    option forwardfor
listen service
    bind 127.0.0.1:{port} accept-proxy
    server service 127.0.0.1:{service}
"""


def sent(port: int, data: bytes) -> Reply:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as opened:
        opened.sendall(data)
        return Reply.parse(b"".join(iter(lambda: opened.recv(65_536), b"")))


@pytest.fixture
def straight(server: Deployment) -> Send:
    """Connect as a trusted proxy that names its client."""
    return lambda data: sent(server.port, data.replace(b"\r\n", b"\r\nX-Forwarded-For: %b\r\n" % CLIENT.encode(), 1))


@pytest.fixture
def through_haproxy(server: Deployment, tmp_path: Path) -> Iterator[Send]:
    """Connect as a remote client; the PROXY protocol gives HAProxy its address."""
    program = shutil.which("haproxy")
    if program is None:
        pytest.skip("haproxy is not installed: what it passes on of trailers is not tested")
    port, file = free_port(), tmp_path / "haproxy.cfg"
    file.write_text(CONFIGURATION.format(port=port, service=server.port))
    with subprocess.Popen([program, "-db", "-f", str(file)], stderr=subprocess.DEVNULL) as process:
        try:
            line = f"PROXY TCP4 {CLIENT} 127.0.0.1 4711 80\r\n".encode()
            assert eventually(lambda: answers(port, line))
            yield lambda data: sent(port, line + data)
        finally:
            process.terminate()


def answers(port: int, line: bytes) -> bool:
    try:
        return sent(port, line + b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").status == 200
    except OSError:
        return False


@pytest.fixture(params=["straight", "through_haproxy"])
def send(request: pytest.FixtureRequest) -> Send:
    return request.getfixturevalue(request.param)


def chunked(path: str, trailer: str, *headers: str, method: str = "POST", body: bytes = b"{}") -> bytes:
    lines = ["Host: localhost", "Connection: close", "Transfer-Encoding: chunked", *headers]
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode()
    return head + b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(body), body, trailer.encode())


@pytest.fixture
def bound_key(server: Deployment, key: str) -> str:
    with server.client(key) as client:
        made = client.post("/v1/api-keys", json={"name": "bound", "type": "secret", "allowedIps": [ALLOWED]})
        return str(made.json()["key"])


@pytest.mark.parametrize("path", [CHECK, CONTENT])
def test_a_trailer_cannot_choose_the_address(send: Send, bound_key: str, path: str) -> None:
    reply = send(chunked(path, f"X-Forwarded-For: {ALLOWED}", f"Authorization: Bearer {bound_key}"))

    assert (reply.status, reply.body["error"]["code"]) == (403, "ip_not_allowed")
    assert CLIENT in reply.body["error"]["message"]


@pytest.mark.parametrize("path", [CHECK, CONTENT])
def test_a_key_in_a_trailer_is_none(send: Send, key: str, path: str) -> None:
    assert send(chunked(path, f"Authorization: Bearer {key}")).status == 401


@pytest.mark.parametrize("trailer", ["X-Forwarded-For: unknown", "X-Forwarded-For: 127.0.0.1"])
def test_a_trailer_does_not_open_the_metrics(send: Send, trailer: str) -> None:
    assert send(chunked("/metrics", trailer, method="GET")).status == 404


def test_a_body_with_a_trailer_is_served(send: Send, key: str) -> None:
    reply = send(chunked(CONTENT, "X-Any: a", f"Authorization: Bearer {key}", body=b'{"title": "In chunks"}'))
    assert (reply.status, reply.body["title"]) == (201, "In chunks")
