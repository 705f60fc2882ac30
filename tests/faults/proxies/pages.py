"""Requests to the proxies, and the pages that they serve."""

import socket
from contextlib import suppress

from tests.faults.proxies.programs import HOST

FORGED = {
    **{f"X-Access-{name}": "forged" for name in ("Decision", "Requester", "Id", "Status", "Reason", "Would")},
    "X_Access_Requester": "forged",
    "X_Access-Requester": "forged",
    "X-Access_Requester": "forged",
    "x_access_decision": "forged",
    "X-Licensing-Key": "forged",
    "X_Licensing_Key": "forged",
    "X-Licensing_Key": "forged",
    "X-Forwarded-Method": "HEAD",
    "X-Forwarded-Proto": "ftp",
    "X-Forwarded-Host": "other.example",
    "X-Forwarded-Uri": "/open/a",
    "X-Forwarded-For": "192.0.2.1",
    "X-Original-URL": "http://pub.example/open/a",
    "X-Original-Method": "HEAD",
    "X-Rewrite-Url": "/open/a",
}


CRAWLER = "GPTBot/1.0"
FROM_THE_ORIGIN = b'"page": "of the origin"'


def exchange(port: int, request: bytes, seconds: float = 20) -> bytes:
    """Send the bytes and return the whole reply, in lower case; it is empty if the proxy just hangs up.

    Raises TimeoutError if no byte arrives within `seconds`.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(request)
        reply = b""
        try:
            while part := connection.recv(65_536):
                reply += part
        except ConnectionResetError:
            pass
    return reply.lower()


OPEN = ("/open/a", "/open/a/b-c.html?x=1", "/about")


CLOSED = ("/licensed/a", "/licensed/a?/open/a", "/open/../licensed/a", "/open/%2e%2e/licensed/a", "//licensed/a")


PUBLIC = (
    "/robots.txt", "/robots.txt?x=1", "/sitemap.xml", "/.well-known/security.txt",
    "/.well-known/acme-challenge/a-_1", "/ads.txt", "/favicon.ico", "/news-sitemap.xml", "/sitemap_index.xml",
    "/sitemaps/2026/a.xml",
)  # fmt: skip


NEARLY_PUBLIC = (
    "/.well-known/../licensed/a", "/.well-known/..;/licensed/a", "/robots.txt/../licensed/a",
    "/.well-known/a;/../../licensed/a", "/robots.txt/a", "/a/robots.txt", "/.well-known/.a",
    "/licensed/a-sitemap.xml", "/sitemap/licensed.xml", "/sitemaps/../licensed/a",
    "/license.xml", "/.well-known/tdmrep.json",
)  # fmt: skip


# Spellings that some origin reads as a closed page, which cannot be resolved while the service is down.
DOUBTFUL = (
    "/open/..;/licensed/a", "/open/%252e%252e/licensed/a", "/open/.%00./licensed/a", "/about/..%2Flicensed/a",
    "/open/a;/../../licensed/a",
)  # fmt: skip


def is_served(port: int, path: str, agent: str = "Mozilla/5.0") -> bool:
    return FROM_THE_ORIGIN in visited(port, path, agent)


def visited(port: int, path: str, agent: str = "Mozilla/5.0") -> bytes:
    """Return the reply to a visitor who waits six seconds; empty if none came."""
    head = f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
    with suppress(TimeoutError):
        return exchange(port, head.encode(), 6)
    return b""


def reply_of(port: int, path: str, host: str = HOST, headers: str = "") -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: Mozilla/5.0\r\n{headers}Connection: close\r\n\r\n"
    return exchange(port, head.encode())


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])
