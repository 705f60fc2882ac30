"""A list fetched by one process verifies crawlers in every process, immediately and after a restart."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.harness import Deployment, eventually, separate
from tests.outbound.receivers import certificate_of, receiver

FETCH = """
import ssl, sys
from datetime import timedelta
from functools import partial
import django
django.setup()
from kit.outbound.client import Client
from licensing.edge.verification import published_lists
from tests.outbound.receivers import Names
url, certificate = sys.argv[1:]
published_lists.FRESH = timedelta(0)
trusting = ssl.create_default_context(cafile=certificate)
client = partial(Client, allow_private=True, resolve=Names("127.0.0.1"), certificates=trusting)
[fetched] = published_lists.fetch_lists([url], client)
sys.exit(fetched.failure or None)
"""


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Deployment]:
    with separate(tmp_path, CRAWLER_LISTS="on", CRAWLER_DNS="off") as made:
        yield made


def requester_at(service: Deployment, key: str, address: str) -> str:
    reply = httpx.get(
        f"{service.url}/v1/access/forward",
        headers={"X-Licensing-Key": key, "User-Agent": "Seeker/1.0", "X-Forwarded-Proto": "https",
                 "X-Forwarded-Host": "pub.example", "X-Forwarded-Uri": "/a", "X-Forwarded-For": address},
    )  # fmt: skip
    return reply.headers["X-Access-Requester"]


def test_processes_recognise_crawlers_by_the_lists_that_another_one_has_fetched(installation, tmp_path):
    server, _ = certificate_of("seeker.example", tmp_path)
    lists = [["8.8.4.0/24"], ["8.8.8.0/24"]]

    def answer(connection: socket.socket, _: bytes) -> None:
        body = json.dumps({"prefixes": [{"ipv4Prefix": one} for one in lists.pop(0)]}).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with receiver(answer, tls=server) as operator:
        url = f"https://seeker.example:{operator.port}/bots.json"
        names = dict.fromkeys(("name", "operator", "userAgent"), "Seeker")
        seeker = {**names, "class": "search", "addressLists": [url]}
        (tmp_path / "crawlers.json").write_text(json.dumps({"date": "2026-11-24", "crawlers": [seeker]}))

        def fetch() -> None:
            done = installation.python("-c", FETCH, url, str(tmp_path / "certificate.pem"))
            assert done.returncode == 0, done.stderr

        [(key, _)] = installation.accounts(1)
        fetch()
        installation.start()
        with installation.client(key) as api:
            api.post("/v1/sites", json={"host": "pub.example"})
        assert eventually(lambda: requester_at(installation, key, "8.8.4.4") == "crawler:seeker", 30)
        assert requester_at(installation, key, "8.8.8.8") == "unverified:seeker"
        fetch()
        assert eventually(lambda: requester_at(installation, key, "8.8.8.8") == "crawler:seeker", 30)
