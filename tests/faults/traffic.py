"""Clients on loopback: many requests at one moment, or a load that lasts."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.faults.harness import Deployment

REPLY_SECONDS = 60


@dataclass(frozen=True)
class Reply:
    """A raw response. Status 0: the connection ended without one."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @classmethod
    def parse(cls, raw: bytes, *, has_body: bool = True) -> "Reply":
        head, complete, content = raw.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        if not complete or (has_body and len(content) < int(headers.get("content-length", 0))):
            return cls(0)
        return cls(int(lines[0].split()[1]), headers, content)


def request(method: str, path: str, key: str, json_body: Any = None, **headers: str) -> bytes:
    """The bytes of a request on a connection of its own."""
    body = b"" if json_body is None else json.dumps(json_body).encode()
    lines = {
        "Host": "127.0.0.1",
        "Authorization": f"Bearer {key}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body


def at_once(deployment: Deployment, requests: Iterable[bytes], sent: threading.Event | None = None) -> list[Reply]:
    """Sends each request on its own connection, all of them only when every connection stands; then sets `sent`."""
    return asyncio.run(exchange(deployment.port, list(requests), sent))


async def exchange(port: int, requests: Sequence[bytes], sent: threading.Event | None = None) -> list[Reply]:
    connections = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in requests))
    for (_, writer), raw in zip(connections, requests, strict=True):
        writer.write(raw)
    if sent:
        sent.set()

    async def reply(raw_request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Reply:
        raw = b""
        with suppress(ConnectionError):
            async with asyncio.timeout(REPLY_SECONDS):
                while part := await reader.read(65_536):
                    raw += part
        writer.close()
        return Reply.parse(raw, has_body=not raw_request.startswith(b"HEAD "))

    pairs = zip(requests, connections, strict=True)
    return await asyncio.gather(*(reply(raw, *connection) for raw, connection in pairs))


def in_groups(deployment: Deployment, requests: Sequence[bytes], size: int) -> list[Reply]:
    """Sends the requests from `size` clients, each the next one as soon as it has its reply."""
    pending = iter(requests)

    async def client() -> list[Reply]:
        return [(await exchange(deployment.port, [raw]))[0] for raw in pending]

    async def all_clients() -> list[list[Reply]]:
        return await asyncio.gather(*(client() for _ in range(size)))

    return [reply for replies in asyncio.run(all_clients()) for reply in replies]


def statuses(replies: Iterable[Reply | httpx.Response]) -> dict[int, int]:
    return dict(Counter(reply.status if isinstance(reply, Reply) else reply.status_code for reply in replies))


@dataclass
class Load:
    """What the clients of `under_load` have seen up to now."""

    replies: list[httpx.Response] = field(default_factory=list)
    unanswered: int = 0  # requests whose connection ended without a reply: nobody knows what became of them
    refused: int = 0  # connections that the server did not accept: nothing was sent

    def wait_for(self, count: int, seconds: float = 30) -> None:
        """Returns when that many more replies have come."""
        goal, deadline = len(self.replies) + count, time.monotonic() + seconds
        while len(self.replies) < goal:
            assert time.monotonic() < deadline, f"No {count} replies in {seconds} s: {self}"
            time.sleep(0.01)

    def __repr__(self) -> str:
        return f"<{statuses(self.replies)}, unanswered: {self.unanswered}, refused: {self.refused}>"


@contextmanager
def under_load(
    deployment: Deployment, key: str, send: Callable[[httpx.Client, int], httpx.Response], clients: int = 8
) -> Iterator[Load]:
    """Runs `send(client, number of the client)` over and over in that many threads while the block runs."""
    load, stop = Load(), threading.Event()

    def work(number: int) -> None:
        with deployment.client(key, limits=httpx.Limits(max_connections=1)) as client:
            while not stop.is_set():
                try:
                    load.replies.append(send(client, number))
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    load.refused += 1
                    time.sleep(0.02)
                except httpx.TransportError:
                    load.unanswered += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        stop.set()
        for thread in threads:
            thread.join()
