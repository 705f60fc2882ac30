"""Spellings of closed pages at real proxies, with an origin that serves a closed page if any origin would."""

import re
import socket
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from random import Random
from urllib.parse import parse_qs

import pytest

from tests.edge.origins import ORIGINS
from tests.edge.spellings import spelled_uri
from tests.examples import rounds
from tests.faults.harness import Deployment
from tests.faults.proxies.conftest import NOBODY, Publisher
from tests.faults.proxies.origin import Quiet, serving
from tests.faults.proxies.programs import HOST, Place, Proxy, running
from tests.services import free_port

SECRET, PUBLIC = b"the closed page", b"another page"
CLOSED = ["/licensed/a", "/open/closed", "/article?id=5"]
# Closed pages that look like assets, for which proxies make no request.
LIKE_ASSETS = [
    "/licensed/a/x.css", "/licensed/x.css", "/licensed/assets/x.css", "/licensed/a;x.css",
    "/licensed/a?/assets/x.css",
    "/licensed/a%3F/assets/x.css", "/licensed/a%23/assets/x.css", "/licensed/a;/../assets/x.css",
    "/licensed/..%2Fassets/x.css", "/licensed/..;/assets/x.css", "/licensed/%2e%2e/assets/x.css",
    "/licensed/a%2F..%2F..%2Fassets/x.css", "/licensed/a\\..\\..\\assets/x.css",
    "/licensed/%252e%252e/assets/x.css",
    "/assets/..;/licensed/x.css", "/assets/..%2Flicensed/x.css", "/assets/%2e%2e/licensed/x.css",
    "/assets/../licensed/x.css", "/assets/x.css/../../licensed/x.css", "/assets/%252e%252e/licensed/x.css",
    "/assets/a%2F..%2F..%2Flicensed/x.css", "/assets/..\\licensed\\x.css", "/assets/..%5Clicensed/x.css",
    "//assets/../licensed/x.css", "/assets//../licensed/x.css", "/assets;/../licensed/x.css",
]  # fmt: skip


def is_closed(target: str) -> bool:
    """Whether any origin serves a closed page for this path."""
    paths = {origin(target) for origin in ORIGINS}
    if any(path.startswith("/licensed/") or path == "/open/closed" for path in paths):
        return True
    query = re.split("[?]", target, maxsplit=1)[1:]
    return "/article" in paths and any("5" in parse_qs(text).get("id", []) for text in query)


class Lenient(Quiet):
    protocol_version = "HTTP/1.1"

    def serve(self) -> None:
        self.answer(200, SECRET if is_closed(self.path) else PUBLIC)


@pytest.fixture(scope="module")
def lenient_origin() -> Iterator[int]:
    with serving(Lenient) as port:
        yield port


@pytest.fixture(scope="module")
def closed_items(publisher: Publisher) -> None:
    with publisher.api() as api:
        shut = api.post("/policies", json={"name": "closed items", "rules": [NOBODY]}).json()["id"]
        items = [{"title": uri, "source": f"https://{HOST}{uri}", "policyId": shut} for uri in CLOSED[1:]]
        api.post("/content/bulk", json={"items": items}).raise_for_status()


@pytest.fixture
def address(
    proxy: Proxy, server: Deployment, publisher: Publisher, lenient_origin: int, closed_items: None, tmp_path: Path
) -> Iterator[tuple[str, int]]:
    at = Place(publisher.edge_key, server.port, lenient_origin, free_port(), tmp_path)
    with running(proxy, at):
        yield "127.0.0.1", at.port


def send(address: tuple[str, int], target: str) -> tuple[int, bytes]:
    """Send a target unchanged (HTTP clients would normalise it); return the status and the body.

    Does not wait for the end of the connection, which Envoy delays.
    """
    with socket.create_connection(address, timeout=10) as connection:
        head = f"GET {target} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode("latin-1"))
        with HTTPResponse(connection) as reply:
            reply.begin()
            return reply.status, reply.read()


def test_no_spelling_gets_a_closed_page_from_the_origin(address):
    assert send(address, "/open/a") == (200, PUBLIC)
    for uri in (*CLOSED, "/.well-known/..;/licensed/a", "/licensed;x/a", "/article?x=1&id=5", "//article?id=5"):
        status, _ = send(address, uri)
        assert (uri, status // 100) == (uri, 4)
    for uri in LIKE_ASSETS:
        assert (uri, SECRET in send(address, uri)[1]) == (uri, False)
    chance = Random(24)
    asked = [spelled_uri(chance, chance.choice(CLOSED)) for _ in range(rounds(600))]
    assert [uri for uri in asked if SECRET in send(address, uri)[1]] == []
