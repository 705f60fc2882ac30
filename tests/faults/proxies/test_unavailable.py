"""The service answers, but with an error: 5xx keeps open pages open for everybody, and no error opens another one."""

from collections.abc import Iterator

import pytest

from tests.faults.proxies.origin import serving
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
from tests.faults.proxies.programs import HOST, Place, running, status_at
from tests.faults.proxies.unavailable import Service
from tests.services import free_port

UNAVAILABLE = (500, 502, 503, 504)  # of the service that cannot decide, or of a gateway before it
ERRORS = (400, 401, 403, 404, 429)
EDGE_KEY = "svc_sk_of_the_edge"


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


def test_only_open_pages_stay_open_while_the_service_cannot_decide(at, service, proxy):
    for service.status in UNAVAILABLE:
        assert served(at, OPEN) == list(OPEN)
        assert served(at, OPEN, CRAWLER) == (list(OPEN) if proxy.can_open else [])
        assert served(at, PUBLIC) == list(PUBLIC)
        assert served(at, (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC)) == []
    service.status = 503
    assert {status_at(at, path) for path in ("/licensed/a", "/open/a%2Fb", "/elsewhere")} == {503}


def test_no_error_opens_a_page(at, service):
    for service.status in ERRORS:
        assert served(at, OPEN) == list(OPEN)  # people are not asked about
        assert served(at, OPEN, CRAWLER) == []
        assert served(at, (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC)) == []


def test_forged_headers_reach_no_origin_while_the_service_cannot_decide(at):
    forged = "".join(f"{name}: {value}\r\n" for name, value in FORGED.items())
    for path in (*OPEN, *PUBLIC):
        reply = exchange(at.port, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{forged}Connection: close\r\n\r\n".encode())
        assert FROM_THE_ORIGIN in reply
        assert b"forged" not in reply
        assert EDGE_KEY.encode() not in reply
