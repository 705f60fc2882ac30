"""Headers as long and expensive to parse as clients can send: they cost almost no event-loop time."""

import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from kit.http.headers import LIMITS, MAX_PARAMETERS, MAX_TARGET
from tests.faults.harness import Deployment
from tests.faults.header_attacks import (
    CHECK,
    FORWARD,
    LIST,
    MIDDLEWARE,
    PAGE,
    REFUSED_BY_THE_SERVER,
    Attack,
    attack_with,
    attacks,
    request_of,
)

pytestmark = pytest.mark.faults

MOST = 10  # times the cost of the same request with ordinary headers: about a millisecond
TRIES = 8  # take the least of these, because some include other work of the loop
FROM_PROXIES = {name.decode() for name in LIMITS if name.startswith((b"x-forwarded-", b"x-original-"))}
READ_AT_THE_EDGE_FROM_PROXIES = FROM_PROXIES - {"x-forwarded-for"}


class Connection:
    """A keep-alive connection that sends requests one by one until the server closes it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.socket: socket.socket | None = None

    def send(self, request: bytes) -> bytes:
        """Send a request and return the whole reply."""
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.socket.sendall(request)
        received = b""
        while not received.endswith(b"\r\n\r\n"):
            received += self.receive(1)
        [length] = re.findall(rb"(?i)content-length: (\d+)", received)
        received += self.receive(int(length))
        if b"\r\nconnection: close\r\n" in received.lower():
            self.close()
        return received

    def receive(self, size: int) -> bytes:
        assert self.socket
        part = self.socket.recv(size, socket.MSG_WAITALL)
        assert len(part) == size
        return part

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


@pytest.fixture
def connection(server: Deployment) -> Iterator[Connection]:
    connection = Connection(server.port)
    yield connection
    connection.close()


def time_of_the_loop(server: Deployment) -> int:
    """Return the CPU time of the event loop's thread, in nanoseconds."""
    assert server.process
    pid = server.process.pid
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()[0])


def cost(server: Deployment, connection: Connection, request: bytes, enough: float = 0) -> float:
    """Return the least CPU time of the event loop for this request; stop trying once it is at most `enough`."""
    least = float("inf")
    for _ in range(TRIES):
        before = time_of_the_loop(server)
        connection.send(request)
        least = min(least, time_of_the_loop(server) - before)
        if least <= enough:
            break
    return least


@pytest.mark.parametrize("path", [CHECK, LIST, FORWARD, MIDDLEWARE, PAGE])
def test_no_header_takes_long_on_the_event_loop(server, key, connection, path):
    connection.send(request_of(path, key))  # caches are filled once
    usual = cost(server, connection, request_of(path, key))
    found = {
        str(attack): taken / usual
        for attack in attacks(path)
        if (taken := cost(server, connection, attack_with(attack, key), MOST * usual)) > MOST * usual
    }
    assert found == {}


def test_checks_are_answered_beside_clients_that_send_such_headers(server, key):
    with server.client(key) as client:
        item = client.post("/v1/content", json={"title": "Item"}).json()["id"]
        done = Event()

        def attack(path: str) -> None:
            connection = Connection(server.port)
            for one in attacks(path):
                if not done.is_set():
                    connection.send(attack_with(one, key))
            connection.close()

        with ThreadPoolExecutor(4) as attackers:
            under_way = [attackers.submit(attack, path) for path in (CHECK, LIST, FORWARD, PAGE)]
            statuses = [
                client.post(CHECK, json={"contentId": item, "requester": "org_acme"}).status_code for _ in range(100)
            ]
            done.set()
        assert [one.exception() for one in under_way] == [None] * 4
        assert statuses == [200] * 100


BY_APPLICATIONS = sorted({name.decode() for name in LIMITS} - REFUSED_BY_THE_SERVER)


def beyond(path: str, header: str, key: str) -> bytes:
    return attack_with(Attack(path, header, "a" * (LIMITS[header.encode()].most + 1)), key)


def test_a_header_beyond_its_limit_is_a_400_that_names_it(connection, key):
    for header in BY_APPLICATIONS:
        for path in (CHECK, LIST, PAGE):
            reply = connection.send(beyond(path, header, key))
            assert reply.startswith(b"HTTP/1.1 400")
            assert b'"param":"%b"' % header.title().encode() in reply
            assert f"{LIMITS[header.encode()].most:,} bytes".encode() in reply

    line = b"accept: " + b"a" * 600 + b"\r\n"
    request = request_of(LIST, "").replace(b"content-length: 0\r\n", line)
    assert connection.send(request).startswith(b"HTTP/1.1 401")
    assert b'"param":"Accept"' in connection.send(request.replace(line, line + line))
    for header in sorted(READ_AT_THE_EDGE_FROM_PROXIES):
        reply = connection.send(beyond(FORWARD, header, key))
        assert reply.startswith(b"HTTP/1.1 400")
        assert b'"param":"%b"' % header.title().encode() in reply


@pytest.mark.parametrize("header", ["accept", "cookie", "referer", "user-agent", "x-forwarded-for"])
def test_headers_of_a_visitor_beyond_a_limit_do_not_refuse_the_page(connection, key, header):
    unsigned = {"signature": "", "signature_agent": "", "signature_input": ""}
    value = "a" * (LIMITS[header.encode()].most + 1)
    reply = connection.send(request_of(FORWARD, key, **unsigned, **{header: value}))
    assert reply.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (LIST + "?" + "a" * MAX_TARGET, "path and query may have up to"),
        ("/" + "a" * MAX_TARGET, "path and query may have up to"),
        (LIST + "?" + "&" * MAX_PARAMETERS, "500 parameters"),
        (CHECK + "?" + "&" * MAX_PARAMETERS, "500 parameters"),
    ],
)
def test_a_long_target_is_a_400(connection, target, message):
    reply = connection.send(request_of(LIST, "").replace(LIST.encode(), target.encode(), 1))
    assert reply.startswith(b"HTTP/1.1 400")
    assert message.encode() in reply
