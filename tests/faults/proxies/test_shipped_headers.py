"""The headers that each proxy sends to the service, to the origin and to visitors, with a service that is scripted."""

from collections.abc import Iterator

import pytest

from tests.faults.proxies.origin import Origin, Quiet, serving
from tests.faults.proxies.pages import FROM_THE_ORIGIN, exchange
from tests.faults.proxies.programs import HOST, Place, Proxy, running
from tests.services import free_port

LICENSED, REFUSED, DOWN = "/licensed", "/refused", "/down"
ADDRESS, FORGED_ADDRESS = "203.0.113.7", "198.51.100.9"
NOT_STORED = {"Cache-Control": "no-store", "Vary": "Accept"}
ANSWERS = {
    LICENSED: (200, {"X-Access-Decision": "allow", "X-Access-Cache": "private"}),
    REFUSED: (403, {"X-Access-Decision": "deny", "X-Access-Status": "402", **NOT_STORED}),
    DOWN: (503, {}),
}


class Service(Quiet):
    """A service that answers by the page, and keeps the addresses that proxies report."""

    addresses: list[str]
    schemes: list[str]

    def serve(self) -> None:
        self.addresses.append(self.headers.get("X-Forwarded-For", ""))
        self.schemes.append(self.headers.get("X-Forwarded-Proto", ""))
        page = self.headers.get("X-Forwarded-Uri") or self.path.removeprefix("/v1/access/envoy")
        status, headers = ANSWERS.get(page, (200, {"X-Access-Decision": "allow"}))
        self.answer(status, **headers)


class Cacheable(Origin):
    """An origin whose pages may be cached, by two headers. Keeps the names of the protocols which visitors want."""

    upgrades: list[str | None]

    def end_headers(self) -> None:
        self.upgrades.append(self.headers.get("Upgrade"))
        self.send_header("Cache-Control", "public")
        self.send_header("Cache-Control", "max-age=60")
        super().end_headers()


@pytest.fixture
def service() -> type[Service]:
    return type("Recording", (Service,), {"addresses": [], "schemes": []})


@pytest.fixture
def cacheable() -> type[Cacheable]:
    return type("RecordingOrigin", (Cacheable,), {"upgrades": []})


@pytest.fixture
def port(proxy: Proxy, service: type[Service], cacheable: type[Cacheable], tmp_path) -> Iterator[int]:
    """The port of a proxy behind a CDN at 127.0.0.1, before a site that enforces."""
    with serving(service) as licensing, serving(cacheable) as origin:
        at = Place("svc_sk_of_the_edge", licensing, origin, free_port(), tmp_path, behind_cdn=True)
        with running(proxy, at):
            yield at.port


def visit(port: int, path: str, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return exchange(port, f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n{lines}\r\n".encode(), 6)


def cache_controls(reply: bytes) -> set[str]:
    """Return the directives of all Cache-Control headers."""
    lines = reply.decode("latin-1").partition("\r\n\r\n")[0].split("\r\n")
    values = [line.partition(":")[2] for line in lines if line.startswith("cache-control:")]
    return {directive.strip() for value in values for directive in value.split(",")}


def test_headers_behind_a_cdn_of_pages_of_refusals_and_of_websockets(port, proxy, service, cacheable):
    addresses = {"X_Forwarded_For": f"{FORGED_ADDRESS}, {ADDRESS}", "CF_Connecting_IP": ADDRESS}
    addresses["X_Forwarded_Proto"] = "https"  # TLS ends at the CDN
    service.addresses.clear()
    service.schemes.clear()
    page = visit(port, "/", **addresses, Connection="close")
    assert FROM_THE_ORIGIN in page
    assert cache_controls(page) == ({"public", "max-age=60"} if proxy.shows_headers else {"private"})
    [address] = service.addresses
    # Traefik adds the address of the CDN, which is in the service's TRUSTED_PROXIES.
    assert address.removesuffix(", 127.0.0.1").endswith(ADDRESS)
    assert service.schemes == ["http" if proxy.name == "workerd" else "https"]  # a Worker knows it by its own URL

    licensed = visit(port, LICENSED, Connection="close")
    assert FROM_THE_ORIGIN in licensed
    assert cache_controls(licensed) - {"no-cache"} == {"private"}
    assert b"x-access-cache" not in licensed.partition(b"\r\n\r\n")[0]

    refused = visit(port, REFUSED, Connection="close")
    assert FROM_THE_ORIGIN not in refused
    assert b"cache-control: no-store" in refused
    assert b"vary: accept" in refused

    down = visit(port, DOWN, Connection="close")
    assert FROM_THE_ORIGIN not in down
    assert b"retry-after: 10" in down

    assert b" 200 ok" in visit(port, "/socket", Connection="Upgrade, close", Upgrade="websocket")
    assert cacheable.upgrades[-1] == "websocket"
