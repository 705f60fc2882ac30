"""A stopping server answers each request of a connection that it accepted (docs/guides/deployment.md).

A proxy sends a request to another upstream if the connection was refused; it does not repeat a POST that was sent.
The server has no privileges, as with the systemd unit and the Dockerfile, even if the tests run as root.
"""

import os
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.faults.harness import Deployment, eventually, listens
from tests.faults.traffic import request

pytestmark = pytest.mark.faults

WAITING = 20


@pytest.fixture
def check(key: str) -> bytes:
    """A request for an access check that leaves the connection open."""
    fields = {"externalId": "none", "requester": "org_acme"}
    return request("POST", "/v1/access/check", key, fields, Connection="keep-alive")


@pytest.fixture(params=[True, False], ids=["as systemd stops it", "as Docker stops it"])
def whole_group(request: pytest.FixtureRequest) -> bool:
    """Whether every process gets the signal, or the parent alone."""
    return bool(request.param)


def terminate(server: Deployment, *, whole_group: bool) -> None:
    assert server.process
    if whole_group:
        os.killpg(server.process.pid, signal.SIGTERM)
    else:
        server.process.send_signal(signal.SIGTERM)


def connect(server: Deployment) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def reset(connection: socket.socket) -> None:
    """Close the connection as a client does that crashes."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def read_to_end(connection: socket.socket) -> bytes:
    """Return all that the server sends until it closes the connection."""
    return b"".join(iter(lambda: connection.recv(65_536), b""))


def assert_ended(server: Deployment) -> None:
    """Assert that the processes end by themselves, and leave neither the port nor files of their metrics."""
    assert server.process
    server.process.wait(60)
    assert not server.accepts_connections()
    assert server.metrics_directories() == []


@contextmanager
def suspended_workers(server: Deployment) -> Iterator[None]:
    """Suspend all processes that answer requests."""
    workers = eventually(server.all_workers)
    assert workers
    for worker in workers:
        worker.suspend()
    try:
        yield
    finally:
        for worker in workers:
            worker.resume()


def parent_has_closed_port(server: Deployment) -> bool:
    assert server.process
    return server.workers == 1 or not listens(psutil.Process(server.process.pid))


def test_a_stop_answers_each_connection_that_waits_in_the_queue(server, check, whole_group):
    with ExitStack() as stack:
        with suspended_workers(server):
            waiting = [stack.enter_context(connect(server)) for _ in range(WAITING)]
            for connection in waiting:
                connection.sendall(check)
            reset(waiting.pop(1))
            terminate(server, whole_group=whole_group)
            assert eventually(lambda: parent_has_closed_port(server))
        replies = [read_to_end(connection) for connection in waiting]
    assert [reply[:12] for reply in replies] == [b"HTTP/1.1 404"] * (WAITING - 1)
    assert_ended(server)


def test_an_open_connection_gets_every_answer_and_learns_that_it_ends(server, check, whole_group):
    """A proxy sends requests on its open connections until it learns that they are closed."""
    with connect(server) as connection:
        terminate(server, whole_group=whole_group)
        reply = b""
        while b"connection: close" not in reply:
            connection.sendall(check)
            reply = connection.recv(65_536)
            assert reply.startswith(b"HTTP/1.1 404")
        assert connection.recv(1) == b""
    assert_ended(server)


def test_a_request_that_arrives_while_the_server_stops_is_answered(server, check, whole_group):
    with connect(server) as begun:
        begun.sendall(check[:20])
        terminate(server, whole_group=whole_group)
        assert eventually(lambda: not server.accepts_connections())
        begun.sendall(check[20:])
        assert read_to_end(begun).startswith(b"HTTP/1.1 404")
    assert_ended(server)
