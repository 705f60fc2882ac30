"""The service answers, but with an error: 5xx keeps open pages open for everybody, and no error opens another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from run import ROOT
from tests.faults.proxies.origin import Quiet, serving
from tests.faults.proxies.pages import (
    CLOSED,
    CRAWLER,
    DOUBTFUL,
    FORGED,
    FROM_THE_ORIGIN,
    NEARLY_PUBLIC,
    OPEN,
    PUBLIC,
    exchange,
    is_served,
)
from tests.faults.proxies.programs import HOST, NAMED_IN_NGINX, Place, running, status_at
from tests.services import free_port

UNAVAILABLE = (500, 502, 503, 504)  # of the service that cannot decide, or of a gateway before it
ERRORS = (400, 401, 403, 404, 429)
EDGE_KEY = "svc_sk_of_the_edge"


class Service(Quiet):
    """A service that answers every question with `status`."""

    status = 503

    def serve(self) -> None:
        self.answer(self.status)


@pytest.fixture
def service() -> type[Service]:
    return type("Answering", (Service,), {})


@pytest.fixture
def at(proxy, service, origin, tmp_path) -> Iterator[Place]:
    """A proxy that keeps /about and /open/ open."""
    with serving(service) as port:
        place = Place(EDGE_KEY, port, origin, free_port(), tmp_path, keeps_open=True)
        with running(proxy, place, decides=False):
            yield place


def served(at: Place, paths: tuple[str, ...], agent: str = "Mozilla/5.0") -> list[str]:
    return [path for path in paths if is_served(at.port, path, agent)]


NEVER = (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC)


def test_only_open_pages_stay_open_while_the_service_cannot_decide(at, service):
    for service.status in UNAVAILABLE:
        assert served(at, OPEN) == list(OPEN)
        assert served(at, OPEN, CRAWLER) == list(OPEN)
        assert served(at, PUBLIC) == list(PUBLIC)
        assert served(at, NEVER) == []
    service.status = 503
    assert {status_at(at, path) for path in ("/licensed/a", "/open/a%2Fb", "/elsewhere")} == {503}


def test_no_error_opens_a_page(at, service):
    for service.status in ERRORS:
        assert served(at, OPEN) == list(OPEN)  # people are not asked about
        assert served(at, OPEN, CRAWLER) == []
        assert served(at, NEVER) == []


def test_forged_headers_reach_no_origin_while_the_service_cannot_decide(at):
    forged = "".join(f"{name}: {value}\r\n" for name, value in FORGED.items())
    for path in (*OPEN, *PUBLIC):
        reply = exchange(at.port, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{forged}Connection: close\r\n\r\n".encode())
        assert FROM_THE_ORIGIN in reply
        assert b"forged" not in reply
        assert EDGE_KEY.encode() not in reply


def test_a_question_that_the_service_refuses_opens_nothing(proxy, server, publisher, origin, tmp_path):
    """The service refuses a malformed or oversized header."""
    at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, keeps_open=True)
    with running(proxy, at):
        for header in (b"User-Agent: a\x01b", b"Authorization: " + b"a" * 7_000, b"Signature-Input: " + b"(" * 7_000):
            for path in (b"/licensed/a", b"/open/../licensed/a"):
                request = b"GET %s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n%s\r\n\r\n" % (path, header)
                assert FROM_THE_ORIGIN not in exchange(at.port, request)


@pytest.mark.parametrize("observes", [True, False], ids=["observes", "enforces"])
def test_a_wrong_key_refuses_no_reader_of_open_pages(proxy, server, publisher, origin, tmp_path, observes):
    at = Place("svc_sk_wrong", server.port, origin, free_port(), tmp_path, keeps_open=not observes, observes=observes)
    with running(proxy, at, decides=False):
        assert served(at, (*OPEN, *PUBLIC)) == [*OPEN, *PUBLIC]
        assert served(at, CLOSED) == (list(CLOSED) if observes else [])
        assert observes or status_at(at, "/licensed/a") == 503


def with_second_server(options: str = "") -> str:
    """Return nginx.conf with the suggested open pages, and a second server of the service, which is down."""
    text = (ROOT / "deploy" / "edge" / "nginx.conf").read_text().replace(f"# {NAMED_IN_NGINX}", NAMED_IN_NGINX)
    text = text.replace("default ask;", "default closed;")
    two = f"server 127.0.0.1:8000{options}; server 127.0.0.1:{free_port()}{options};"
    return text.replace("server 127.0.0.1:8000 max_fails=3 fail_timeout=10s;", two)


@pytest.mark.parametrize("option", ["", " max_fails=0"], ids=["default", "max_fails=0"])
def test_named_pages_stay_open_while_all_servers_of_the_upstream_are_down(nginx, origin, tmp_path: Path, option: str):
    two = with_second_server(option)
    at = Place("svc_sk_of_the_edge", free_port(), origin, free_port(), tmp_path, generated=two)
    with running(nginx, at, decides=False):
        assert served(at, (*OPEN, *PUBLIC, *OPEN)) == [*OPEN, *PUBLIC, *OPEN]
        assert served(at, NEVER) == []


@pytest.mark.parametrize(
    ("status", "opened"), [(503, [*OPEN, *PUBLIC, *OPEN]), (500, [*OPEN, *PUBLIC, *OPEN]), (400, [*OPEN, *OPEN])]
)
def test_the_last_server_asked_decides_what_stays_open(nginx, origin, tmp_path: Path, status: int, opened: list[str]):
    with serving(type("Answering", (Service,), {"status": status})) as service:
        two = with_second_server(" max_fails=0")
        at = Place("svc_sk_of_the_edge", service, origin, free_port(), tmp_path, generated=two)
        with running(nginx, at, decides=False):
            assert served(at, (*OPEN, *PUBLIC, *OPEN)) == opened
            assert served(at, NEVER) == []
