"""The service answers, but with an error: 5xx keeps open pages open for everybody, and no error opens another one."""

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
    visited,
)
from tests.faults.proxies.programs import HOST, NAMED_IN_NGINX, Place, running, status_at
from tests.services import free_port

UNAVAILABLE = (500, 502, 503, 504)  # of the service that cannot decide, or of a gateway before it
ODD = (400, 413, 414, 431)  # of the service to a visitor's odd request
# Of another server at the service's address: it redirects, wants a password or https, or serves no such host or path.
FOREIGN = (301, 302, 400, 401, 403, 404, 421, 429)
INDISTINCT = {"traefik": {400, 401, 403, 429}, "envoy": {*FOREIGN}}  # from decisions of the service
EDGE_KEY = "svc_sk_of_the_edge"


class Service(Quiet):
    """A service that answers every question with `status`; or another server."""

    status = 503
    is_foreign = False

    def serve(self) -> None:
        own = {"X_RateLimit_Limit": "600", "Cache_Control": "no-store"}
        self.answer(self.status, **({"Cache_Control": "max-age=60"} if self.is_foreign else own))


def served(at: Place, paths: tuple[str, ...], agent: str = "Mozilla/5.0") -> list[str]:
    return [path for path in paths if is_served(at.port, path, agent)]


NEVER = (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC)


def test_while_the_service_answers_with_errors_of_its_own_only_5xx_keep_open_pages_open(proxy, origin, tmp_path):
    """The proxy keeps /about and /open/ open, and passes on neither forged headers nor its key."""
    service = type("Answering", (Service,), {})
    with serving(service) as port:
        at = Place(EDGE_KEY, port, origin, free_port(), tmp_path, keeps_open=True)
        with running(proxy, at, decides=False):
            for service.status in ODD:
                assert served(at, OPEN) == list(OPEN)  # people are not asked about
                assert served(at, OPEN, CRAWLER) == []
                assert served(at, NEVER) == []
            for service.status in UNAVAILABLE:  # proxies do not ask for some seconds afterwards
                assert served(at, OPEN) == list(OPEN)
                assert served(at, OPEN, CRAWLER) == list(OPEN)
                assert served(at, PUBLIC) == list(PUBLIC)
                assert served(at, NEVER) == []
            service.status = 503
            assert {status_at(at, path) for path in ("/licensed/a", "/open/a%2Fb", "/elsewhere")} == {503}
            if proxy.name == "nginx":
                terms = exchange(at.port, f"GET /license.xml HTTP/1.0\r\nHost: {HOST}\r\n\r\n".encode())
                assert terms.startswith(b"http/1.1 503 ")
                assert b"retry-after: 10\r\ncache-control: no-store" in terms
                closed = visited(at.port, "/licensed/a.css")
                assert b"content-type: text/html\r\n" in closed
                assert b"please try again in a few seconds." in closed
            forged = "".join(f"{name}: {value}\r\n" for name, value in FORGED.items())
            for path in (*OPEN, *PUBLIC):
                head = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{forged}Connection: close\r\n\r\n"
                reply = exchange(at.port, head.encode())
                assert FROM_THE_ORIGIN in reply
                assert b"forged" not in reply
                assert EDGE_KEY.encode() not in reply


@pytest.mark.parametrize("observes", [True, False], ids=["observes", "enforces"])
def test_what_another_server_answers_refuses_no_reader_of_open_pages(proxy, origin, tmp_path, observes):
    service = type("Another", (Service,), {"is_foreign": True})
    stay = (*OPEN, *PUBLIC, *(CLOSED if observes else ()))
    with serving(service) as port:
        at = Place(EDGE_KEY, port, origin, free_port(), tmp_path, keeps_open=not observes, observes=observes)
        with running(proxy, at, decides=False):
            for service.status in FOREIGN:
                if service.status in INDISTINCT.get(proxy.name, ()):
                    assert observes or served(at, NEVER) == []
                    continue
                assert (service.status, served(at, stay)) == (service.status, list(stay))
                assert served(at, OPEN, CRAWLER) == list(OPEN)
                if not observes:
                    assert (service.status, served(at, NEVER)) == (service.status, [])
                    assert (service.status, status_at(at, "/licensed/a")) == (service.status, 503)


def test_a_question_that_the_service_refuses_opens_nothing(proxy, server, publisher, origin, tmp_path):
    """The service refuses a malformed or oversized header, and an address of over 8 KiB."""
    at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, keeps_open=True)
    with running(proxy, at):
        for header in (b"User-Agent: a\x01b", b"Authorization: " + b"a" * 7_000, b"Signature-Input: " + b"(" * 7_000):
            for path in (b"/licensed/a", b"/open/../licensed/a"):
                request = b"GET %s HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n%s\r\n\r\n" % (path, header)
                assert FROM_THE_ORIGIN not in exchange(at.port, request)
        long = f"/open/{'a' * 8_170}"
        assert served(at, (long, long[:8_000]), "UnknownBot/1.0") == [long[:8_000]]


def test_what_another_server_answers_is_not_published_as_the_terms(proxy, origin, tmp_path):
    if proxy.name not in ("caddy", "workerd"):
        pytest.skip(f"{proxy.name} cannot decide by an answer's header.")
    with serving() as other:  # as if the service's address were wrong
        at = Place(EDGE_KEY, other, origin, free_port(), tmp_path)
        with running(proxy, at, decides=False):
            for path in ("/license.xml", "/.well-known/tdmrep.json"):
                assert (path, is_served(at.port, path), status_at(at, path)) == (path, False, 503)


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


ALL_STAY = [*OPEN, *PUBLIC, *OPEN]


@pytest.mark.parametrize("options", ["", " max_fails=0"], ids=["default", "max_fails=0"])
def test_named_pages_stay_open_while_all_servers_of_the_upstream_are_down(nginx, origin, tmp_path, options):
    at = Place(EDGE_KEY, free_port(), origin, free_port(), tmp_path, generated=with_second_server(options))
    with running(nginx, at, decides=False):
        assert served(at, (*OPEN, *PUBLIC, *OPEN)) == ALL_STAY
        assert served(at, NEVER) == []


@pytest.mark.parametrize(("status", "opened"), [(503, ALL_STAY), (500, ALL_STAY), (400, [*OPEN, *OPEN])])
def test_the_last_server_asked_decides_what_stays_open(nginx, origin, tmp_path, status, opened):
    with serving(type("Answering", (Service,), {"status": status})) as service:
        at = Place(EDGE_KEY, service, origin, free_port(), tmp_path, generated=with_second_server(" max_fails=0"))
        with running(nginx, at, decides=False):
            assert served(at, (*OPEN, *PUBLIC, *OPEN)) == opened
            assert served(at, NEVER) == []
