"""The attacks of benchmarks.attacks over many connections at once. Use them only against your own service."""

import gzip
import json
import re
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import httpx

from accounts.keys import keytext

RULES = BATCH = 100
PATIENCE = 3  # seconds after which a client gives up


@dataclass
class Target:
    """The service, and the attacker's credentials and objects in it."""

    url: str
    account: str
    key: str
    username: str
    password: str
    policy: str = ""
    item: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def rules(self) -> list[dict[str, Any]]:
        """Return the maximum number of rules of a policy, almost as large as allowed."""
        tags = [f"{number}xxx" for number in range(60)]  # 64 KiB in total, the maximum
        return [{"action": "deny", "priority": n, "conditions": {"tags": tags}} for n in range(1, RULES)] + [
            {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}
        ]

    def connect(self, *, receive_bytes: int | None = None) -> socket.socket:
        address = urlsplit(self.url)
        opened = socket.socket()
        if receive_bytes:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        opened.settimeout(PATIENCE)
        opened.connect((address.hostname, address.port))
        return opened

    def head(self, line: str, *more: str, key: str = "") -> bytes:
        lines = [f"{line} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key or self.key}", *more, "", ""]
        return "\r\n".join(lines).encode()


Attack = Callable[[Target, float], None]
ATTACKS: dict[str, Attack] = {}


def named(name: str) -> Callable[[Attack], Attack]:
    def register(function: Attack) -> Attack:
        ATTACKS[name] = function
        return function

    return register


def by_many(count: int, work: Callable[[], None]) -> None:
    """Run the work in `count` daemon threads."""
    threads = [Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def again_and_again(target: Target, until: float, count: int, method: str, path: str, **options: Any) -> None:
    """Repeat a request over `count` connections until the end; the client gives up on slow replies."""
    options = {"timeout": 30.0, "headers": target.headers, **options}
    timeout = options.pop("timeout")

    def ask() -> None:
        with httpx.Client(base_url=target.url, timeout=timeout, verify=False) as client:  # noqa: S501 - it is HTTP
            while time.monotonic() < until:
                with suppress(httpx.TransportError):
                    client.request(method, path, **options)

    by_many(count, ask)


def as_json(body: Any) -> bytes:
    return json.dumps(body).encode()


@named("drafts")
def drafts(target: Target, until: float) -> None:
    """Dry-run a proposed policy of 1 MiB: 50,000 addresses in 100 rules."""
    rules = []
    for rule in range(RULES):
        addresses = [f"10.{rule}.{number >> 7}.{number % 128 * 2}" for number in range(500)]
        rules.append({"action": "deny", "conditions": {"ip": addresses}})
    body = {"contentId": target.item, "requester": "org", "dryRun": True, "policy": {"rules": rules}}
    again_and_again(target, until, 4, "POST", "/v1/access/check", content=as_json(body))


@named("simulations")
def simulations(target: Target, until: float) -> None:
    """Run 32 simulations at a time of 100 rules on all decisions, giving up after three seconds."""
    rules = [{"action": "deny", "conditions": {"tags": ["none"], "category": f"{n}"}} for n in range(RULES)]
    content, path = as_json({"rules": rules, "period": "all"}), f"/v1/policies/{target.policy}/simulate"
    again_and_again(target, until, 32, "POST", path, content=content, timeout=PATIENCE)


@named("unread-exports")
def unread_exports(target: Target, until: float) -> None:
    """Request exports without reading them, or read one byte per second."""
    request_head = target.head("GET /v1/access/decisions?format=jsonl")
    opened = [target.connect(receive_bytes=4096) for _ in range(16)]
    for connection in opened:
        connection.sendall(request_head)
    while time.monotonic() < until:
        for connection in opened[:8]:
            with suppress(OSError):
                connection.recv(1)
        time.sleep(1)


@named("large-bodies")
def large_bodies(target: Target, until: float) -> None:
    """Send endless bodies of 20 MiB each to an unknown path, without a key."""
    size = 20 * 1024 * 1024
    head = f"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
    connections = []
    for _ in range(16):
        opened = target.connect()
        connections.append(opened)
        with suppress(OSError):
            opened.sendall(head + bytes(size - 1))
    time.sleep(max(0, until - time.monotonic()))


@named("slow-heads")
def slow_heads(target: Target, until: float) -> None:
    """Open connections that send nothing, or one byte of the head at a time."""
    head = target.head("GET /v1/content", *[f"X-{number}: {'a' * 50}" for number in range(20)])
    opened: list[socket.socket] = []
    for _ in range(300):
        with suppress(OSError):
            opened.append(target.connect())
    for byte in head:
        if time.monotonic() > until:
            break
        for connection in opened[::2]:
            with suppress(OSError):
                connection.sendall(bytes([byte]))
        time.sleep(0.1)
    time.sleep(max(0, until - time.monotonic()))


@named("explain")
def explain(target: Target, until: float) -> None:
    """Send batches with traces of the largest policy."""
    body = {"contentId": target.item, "requester": "org", "dryRun": True, "explain": True, "checks": [{}] * 100}
    again_and_again(target, until, 4, "POST", "/v1/access/check/batch", content=as_json(body))


@named("expand")
def expand(target: Target, until: float) -> None:
    """Request lists that contain the largest policy a hundred times."""
    with httpx.Client(base_url=target.url, headers=target.headers, timeout=30) as client:
        for number in range(100):
            client.post("/v1/content", json={"title": f"Item {number}", "policyId": target.policy})
    again_and_again(target, until, 4, "GET", "/v1/content?limit=100&expand=policy")


@named("reports")
def reports(target: Target, until: float) -> None:
    """Request 32 reports at a time over all data, giving up after three seconds."""
    again_and_again(target, until, 32, "GET", "/v1/analytics/usage?period=all&groupBy=hour", timeout=PATIENCE)


@named("login-pages")
def login_pages(target: Target, until: float) -> None:
    again_and_again(target, until, 8, "GET", "/admin/login/", headers={})


@named("unknown-paths")
def unknown_paths(target: Target, until: float) -> None:
    """Request unknown paths with a well-formed but unknown key."""
    headers = {"Authorization": f"Bearer {keytext.generate('secret')}"}
    again_and_again(target, until, 8, "GET", f"/v1/{secrets.token_hex(4)}", headers=headers)


# --- The admin -------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


def signed_in(target: Target) -> httpx.Client:
    client = httpx.Client(base_url=target.url, timeout=30, follow_redirects=True)
    form = {"username": target.username, "password": target.password, "next": "/admin/"}
    client.post("/admin/login/", data={**form, "csrfmiddlewaretoken": csrf_token(client, "/admin/login/")})
    return client


def csrf_token(client: httpx.Client, path: str) -> str:
    match = TOKEN.search(client.get(path).text)
    return match[1] if match else ""


@named("blank-imports")
def blank_imports(target: Target, until: float) -> None:
    """Import gzipped files of one row and many blank lines."""
    file = gzip.compress(as_json({"externalId": "one", "title": "One"}) + b"\n" * 4 * 1024 * 1024)
    path = "/admin/licensing/content/import/"

    def bring() -> None:
        with closing(signed_in(target)) as client:
            while time.monotonic() < until:
                with suppress(httpx.TransportError):
                    form = {"csrfmiddlewaretoken": csrf_token(client, path), "account": target.account}
                    client.post(path, data=form, files={"file": ("rows.jsonl.gz", file)})

    by_many(4, bring)


@named("audit-comparisons")
def audit_comparisons(target: Target, until: float) -> None:
    """Open the audit log page of a change that replaced two rules' 500 tags each."""

    def rules(begin: int) -> list[dict[str, Any]]:
        tags = [[f"{begin + number}" for number in range(500)] for _ in range(2)]
        return [{"action": "allow", "conditions": {"tags": some}} for some in tags]

    with httpx.Client(base_url=target.url, headers=target.headers, timeout=30) as client:
        made = client.post("/v1/policies", json={"name": "Compared", "rules": rules(0)}).json()
        client.patch(f"/v1/policies/{made['id']}", json={"rules": rules(10_000)})
        entry = client.get("/v1/audit?limit=1").json()["data"][0]["id"]

    def look() -> None:
        with closing(signed_in(target)) as client:
            while time.monotonic() < until:
                with suppress(httpx.TransportError):
                    client.get(f"/admin/accounts/auditentry/{entry}/change/")

    by_many(4, look)
