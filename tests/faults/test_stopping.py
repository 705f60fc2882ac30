"""A stopping server answers each request of a connection that it accepted (docs/guides/deployment.md).

A proxy sends a request to another upstream if the connection was refused; it does not repeat a POST that was sent.
"""

import os
import signal
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import request

pytestmark = pytest.mark.faults

SENDERS = 8
ROUNDS = 2


def send(server: Deployment, key: str) -> str:
    """Send a check on a new connection, as a proxy without keep-alive does. Returns what became of it."""
    check = request("POST", "/v1/access/check", key, {"externalId": "none", "requester": "org_acme"})
    try:
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    except (ConnectionRefusedError, ConnectionResetError):  # before a request was sent
        time.sleep(0.05)  # as a client would; the server needs the processor
        return "refused"
    with connection:
        try:
            connection.sendall(check)
            reply = connection.recv(65_536)
        except ConnectionResetError:
            return "reset"
    return reply[:12].decode() or "closed without a reply"


@pytest.mark.parametrize("whole_group", [True, False], ids=["as systemd stops it", "as Docker stops it"])
def test_a_stop_refuses_connections_but_answers_each_that_it_accepted(
    server: Deployment, key: str, whole_group: bool
) -> None:
    ends: Counter[str] = Counter()
    for _ in range(ROUNDS):
        server.start()
        stopped = Event()

        def load(stopped: Event = stopped) -> Counter[str]:
            found: Counter[str] = Counter()
            while not stopped.is_set():
                found[send(server, key)] += 1
            return found

        with ThreadPoolExecutor(SENDERS) as threads:
            loads = [threads.submit(load) for _ in range(SENDERS)]
            assert server.process
            eventually(lambda: False, 0.5)  # under load
            (os.killpg if whole_group else os.kill)(server.process.pid, signal.SIGTERM)
            server.process.wait(60)
            stopped.set()
        for found in loads:
            ends.update(found.result())
    assert ends.pop("HTTP/1.1 404")
    assert set(ends) <= {"refused"}, ends
    server.start()


def test_an_idle_connection_may_send_one_more_request(server: Deployment, key: str) -> None:
    """A proxy sends requests on its open connections until it learns that they are closed."""
    fields = {"externalId": "none", "requester": "org_acme"}
    check = request("POST", "/v1/access/check", key, fields, Connection="keep-alive")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as idle:
        idle.sendall(check)
        assert b"connection: close" not in idle.recv(65_536)
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: not server.accepts_connections())
        idle.sendall(check)
        reply = idle.recv(65_536)
        assert reply.startswith(b"HTTP/1.1 404")
        assert b"connection: close" in reply
        assert idle.recv(1) == b""
    server.process.wait(60)
    server.start()


def test_a_request_that_arrives_while_the_server_stops_is_answered(server: Deployment, key: str) -> None:
    check = request("POST", "/v1/access/check", key, {"externalId": "none", "requester": "org_acme"})
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as begun:
        begun.sendall(check[:20])
        eventually(lambda: False, 0.5)  # the server has read it
        assert server.process
        server.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: not server.accepts_connections())
        begun.sendall(check[20:])
        assert begun.recv(65_536).startswith(b"HTTP/1.1 404")
        assert begun.recv(1) == b""
    server.process.wait(60)
    server.start()
