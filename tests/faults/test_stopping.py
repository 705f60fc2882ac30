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


def test_a_stopping_server_answers_each_request_of_a_connection_that_it_accepted(server, check, whole_group):
    with ExitStack() as stack:
        # A proxy sends requests on its open connections until it learns that they are closed.
        idle, begun = (stack.enter_context(connect(server)) for _ in range(2))
        idle.sendall(check)
        assert idle.recv(65_536).startswith(b"HTTP/1.1 404")
        begun.sendall(check[:20])
        with suspended_workers(server):
            waiting = [stack.enter_context(connect(server)) for _ in range(WAITING)]
            for connection in waiting:
                connection.sendall(check)
            reset(waiting.pop(1))
            terminate(server, whole_group=whole_group)
            assert eventually(lambda: parent_has_closed_port(server))
        reply = b""
        while b"connection: close" not in reply:
            idle.sendall(check)
            reply = idle.recv(65_536)
            assert reply.startswith(b"HTTP/1.1 404")
        assert idle.recv(1) == b""
        assert eventually(lambda: not server.accepts_connections())
        begun.sendall(check[20:])
        for connection in (begun, *waiting):
            assert read_to_end(connection).startswith(b"HTTP/1.1 404")
    assert_ended(server)
