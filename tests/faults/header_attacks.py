"""Unauthenticated requests with headers as long and as expensive to parse as the limits allow."""

import random
import time
from collections.abc import Iterator
from typing import NamedTuple

from kit.http.headers import LIMITS

CHECK, LIST, FORWARD, PAGE = "/v1/access/check", "/v1/content", "/v1/access/forward", "/admin/login/"
MIDDLEWARE = "/v1/access/middleware"
PATTERNS = (
    "a", ",", "a,", "a=b;", ";a=b", " ", "a.", "1", "%41", "é", "[:", "a/b;q=1,", '"a",', "W/",
    '\\"', "\\", '"', "127.0.0.1,", "application/json;q=0.1,", "application/problem+json;q=0,", "gzip;q=0,",
    "bytes=0-1,", 'a=("b" "c");d=1;e="f",', "a=(", '"b" ', "a;b;c,", "Thu, 01 Jan 2026 00:00:00 GMT ", "[1,",
)  # fmt: skip
BEGINNINGS = {
    "accept": ("", "application/problem+json,"),
    "authorization": ("Bearer ", "License ", "Basic ", "License eyJhbGciOiJFUzI1NiJ9."),
    "cookie": ("", 'sessionid="', "sessionid="),
    "content-type": ("", "application/json;", "multipart/form-data; boundary="),
    "if-none-match": ("", '"a"'),
    "referer": ("", "https://127.0.0.1/"),
    "signature-agent": ("", 'sig1="https://', '"https://'),
    "signature-input": ("", "sig1=", "sig1=("),
    "signature": ("", "sig1=:"),
    "x-forwarded-uri": ("/",),
    "x-licensing-url": ("https://pub.example/", "https://"),
    "x-licensing-also": ("https://pub.example/", "https://pub.example/ "),
    "x-original-url": ("/", "https://pub.example/"),
}
REFUSED_BY_THE_SERVER = {"content-length", "transfer-encoding", "host"}  # before any application
READ_BY = {
    PAGE: ("accept", "content-type", "cookie", "origin", "referer", "x-csrftoken"),
    FORWARD: (
        "authorization", "user-agent", "crawler-exact-price", "crawler-max-price", "x-licensing-key",
        "signature", "signature-agent", "signature-input", "x-original-url",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-method", "x-forwarded-proto", "x-forwarded-uri",
    ),
    MIDDLEWARE: (
        "x-licensing-url", "x-licensing-also", "x-licensing-method", "x-licensing-address", "x-licensing-requester",
    ),
}  # fmt: skip
EVERY_HEADER = tuple(name.decode() for name in LIMITS)


class Attack(NamedTuple):
    path: str
    header: str
    value: str

    def __str__(self) -> str:
        return f"{self.path} {self.header}: {self.value[:60]}"


def attacks(path: str) -> Iterator[Attack]:
    """Yield each header at its limit, with each pattern; at pages and the edge, only headers read there."""
    for header in READ_BY.get(path, EVERY_HEADER):
        if header in REFUSED_BY_THE_SERVER:
            continue
        most = LIMITS[header.encode()].most
        for beginning in BEGINNINGS.get(header, ("",)):
            for pattern in PATTERNS:
                yield Attack(path, header, (beginning + pattern * most)[:most].strip())


def request_of(path: str, edge_key: str, **headers: str) -> bytes:
    """Return a request from a unique address, as sent by a proxy. `headers` replace those of the same name."""
    now = int(time.time())
    covered = f'("@authority" "signature-agent";key="sig1");created={now};expires={now + 300}'
    lines = {
        "host": "127.0.0.1",
        "x-licensing-key": edge_key,
        "x-forwarded-for": f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(256)}",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "pub.example",
        "x-forwarded-uri": "/a",
        "signature-agent": 'sig1="https://signer.invalid"',
        "signature-input": f'sig1={covered};keyid="k";tag="web-bot-auth"',
        "signature": "sig1=:YQ==:",
        "content-length": "0",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    method = "POST" if path in (CHECK, PAGE) else "GET"
    head = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items())]
    return "\r\n".join([*head, "", ""]).encode("latin-1")


def attack_with(attack: Attack, edge_key: str) -> bytes:
    return request_of(attack.path, edge_key, **{attack.header: attack.value})
