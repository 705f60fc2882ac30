"""The service is killed under traffic: which pages stay available, and what the origin receives."""

import socket
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread

import httpx
import pytest

from tests.faults.harness import eventually
from tests.faults.proxies.pages import (
    CLOSED,
    DOUBTFUL,
    FORGED,
    FROM_THE_ORIGIN,
    NEARLY_PUBLIC,
    OPEN,
    PUBLIC,
    exchange,
    is_served,
    visited,
)
from tests.faults.proxies.programs import HOST, Place, running
from tests.services import free_port


@pytest.fixture
def keeping_open(proxy, server, publisher, origin, tmp_path) -> Iterator[int]:
    """The port of a proxy that keeps /about and /open/ open while the service is down."""
    at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, keeps_open=True)
    with running(proxy, at):
        yield at.port


class Visitors:
    """Visitors that request each path repeatedly, with forged headers; `replies` are those since `reset`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.stopping = Event()
        self.reset()
        self.threads = [Thread(target=self.visit, args=[path]) for path in (*OPEN, *CLOSED, *DOUBTFUL)]

    def reset(self) -> None:
        self.replies: dict[str, list[bytes]] = defaultdict(list)

    def visit(self, path: str) -> None:
        forged = "".join(f"{name}: {value}\r\n" for name, value in FORGED.items())
        request = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{forged}Connection: close\r\n\r\n".encode()
        while not self.stopping.wait(0.02):
            replies = self.replies
            replies[path].append(exchange(self.port, request))

    def each_had(self, count: int) -> bool:
        return all(len(self.replies[path]) >= count for path in (*OPEN, *CLOSED, *DOUBTFUL))

    def __enter__(self) -> "Visitors":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def check(self, *closed: str) -> None:
        """Assert that no closed page and no forged header passed the proxy."""
        for path in closed:
            assert [reply for reply in self.replies[path] if FROM_THE_ORIGIN in reply] == []
        for path in OPEN:
            for reply in self.replies[path]:
                assert b"forged" not in reply


def test_only_pages_that_are_named_or_public_stay_open_while_the_service_is_down(
    keeping_open, port, visit, proxy, server
):
    with Visitors(keeping_open) as visitors:
        assert eventually(lambda: visitors.each_had(3), 60)
        server.kill()
        visitors.check(*CLOSED)
        visitors.reset()
        assert eventually(lambda: visitors.each_had(5), 60)
        visitors.check(*CLOSED, *DOUBTFUL)
        down = {path: list(visitors.replies[path]) for path in OPEN}
        # The other proxy names no pages.
        assert visit.get("/open/a").status_code == proxy.down
        assert [path for path in PUBLIC if not is_served(port, path)] == []
        assert [path for path in (*CLOSED, *NEARLY_PUBLIC) if is_served(port, path)] == []
        server.start()
        visitors.reset()
        assert eventually(lambda: visitors.each_had(3), 60)
        visitors.check(*CLOSED)
    for path in OPEN:
        assert [reply for reply in down[path] if FROM_THE_ORIGIN not in reply] == []
        assert FROM_THE_ORIGIN in visitors.replies[path][-1]
    assert eventually(lambda: visit.get("/open/a").status_code == httpx.codes.OK, 30)


@pytest.fixture
def stalled() -> Iterator[int]:
    """The port of a service that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        yield silent.getsockname()[1]


@pytest.mark.parametrize("keeps_open", [False, True])
def test_a_service_that_stalls_is_one_that_is_down(proxy, stalled, origin, tmp_path, keeps_open):
    at = Place("svc_sk_of_the_edge", stalled, origin, free_port(), tmp_path, keeps_open=keeps_open)
    with running(proxy, at, decides=False), ThreadPoolExecutor(16) as visitors:
        closed = [visitors.submit(visited, at.port, path) for path in (*CLOSED, *DOUBTFUL)]
        opened = [visitors.submit(visited, at.port, path) for path in OPEN]
        terms = visitors.submit(visited, at.port, "/license.xml")
        assert [reply for reply in closed if FROM_THE_ORIGIN in reply.result()] == []
        assert {FROM_THE_ORIGIN in reply.result() for reply in opened} == {keeps_open}
        waiting = [terms] if keeps_open else [*opened, terms]
        assert {reply.result() == b"" for reply in waiting} == {proxy.is_patient}
        assert FROM_THE_ORIGIN not in terms.result()


def test_a_question_that_the_service_refuses_opens_nothing(keeping_open, server):
    """The service refuses a malformed or oversized header."""
    for header in (b"User-Agent: a\x01b", b"Authorization: " + b"a" * 7_000, b"Signature-Input: " + b"(" * 7_000):
        for path in (b"/licensed/a", b"/open/../licensed/a"):
            request = b"GET %s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n%s\r\n\r\n" % (path, header)
            assert FROM_THE_ORIGIN not in exchange(keeping_open, request)
