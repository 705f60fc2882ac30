"""Clients on loopback: simultaneous requests, or a sustained load."""

import asyncio
import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from tests.faults.harness import Deployment, eventually

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
    """Return the bytes of a request; closes the connection unless `Connection` is given."""
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


def at_once(deployment: Deployment, requests: Iterable[bytes]) -> list[Reply]:
    """Send each request on its own connection, once all connections are open."""
    return asyncio.run(exchange(deployment.port, list(requests)))


def killed_amid(deployment: Deployment, requests: Iterable[bytes]) -> list[Reply]:
    """Send requests from 32 clients; kill the server after one of the first ten replies.

    No further request is sent then: at most 42 are answered, however late this process notices the replies.
    """
    replies = itertools.count(1)
    fatal = random.randint(1, 10)

    def replied() -> None:
        if next(replies) == fatal:
            deployment.kill()

    return in_groups(deployment, requests, 32, replied)


async def exchange(port: int, requests: Sequence[bytes], replied: Callable[[], object] = lambda: None) -> list[Reply]:
    connections = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in requests))
    for (_, writer), raw in zip(connections, requests, strict=True):
        writer.write(raw)

    async def reply(raw_request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Reply:
        raw = b""
        with suppress(ConnectionError):
            async with asyncio.timeout(REPLY_SECONDS):
                while part := await reader.read(65_536):
                    raw += part
        replied()
        writer.close()
        return Reply.parse(raw, has_body=not raw_request.startswith(b"HEAD "))

    pairs = zip(requests, connections, strict=True)
    return await asyncio.gather(*(reply(raw, *connection) for raw, connection in pairs))


def in_groups(
    deployment: Deployment, requests: Iterable[bytes], size: int, replied: Callable[[], object] = lambda: None
) -> list[Reply]:
    """Send the requests from `size` clients; each sends its next request after a reply.

    The replies have the order of the requests. A connection that is refused, or reset while it opens, counts as one
    without a reply.
    """
    pending = enumerate(requests)
    replies: dict[int, Reply] = {}

    async def client() -> None:
        for number, raw in pending:
            try:
                [replies[number]] = await exchange(deployment.port, [raw], replied)
            except ConnectionError:
                replies[number] = Reply(0)

    async def all_clients() -> None:
        await asyncio.gather(*(client() for _ in range(size)))

    asyncio.run(all_clients())
    return [replies[number] for number in sorted(replies)]


def statuses(replies: Iterable[Reply | httpx.Response]) -> dict[int, int]:
    return dict(Counter(reply.status if isinstance(reply, Reply) else reply.status_code for reply in replies))


@dataclass(frozen=True)
class Exchange:
    """A request of `under_load` and its reply, with status 0 if the connection ended without one."""

    tag: Any
    reply: Reply
    begun: float  # by time.monotonic()
    ended: float


@dataclass
class Load:
    """Return the exchanges of `under_load` so far, in order of completion."""

    exchanges: list[Exchange] = field(default_factory=list)
    refused: int = 0  # connections not accepted by the server: nothing was sent

    @property
    def replies(self) -> list[Reply]:
        return [exchange.reply for exchange in self.exchanges]

    def wait_for(self, count: int, seconds: float = 30) -> None:
        """Wait until that many more requests have ended."""
        goal = len(self.exchanges) + count
        assert eventually(lambda: len(self.exchanges) >= goal, seconds), f"No {count} replies in {seconds} s: {self}"

    def wait_for_success(self, count: int = 200) -> None:
        """Wait until the last `count` replies from now on are all 200."""
        since, goal = len(self.exchanges), {200: count}
        assert eventually(lambda: statuses(self.replies[since:][-count:]) == goal), f"No {count} successes: {self}"

    @property
    def per_second(self) -> float:
        """Return the answered requests per second, from the first request to the last reply."""
        answered = [exchange for exchange in self.exchanges if exchange.reply.status]
        if len(answered) < 2:
            return 0
        return len(answered) / (answered[-1].ended - min(exchange.begun for exchange in answered))

    def __repr__(self) -> str:
        return f"<{statuses(self.replies)}, {self.per_second:.0f} a second, refused: {self.refused}>"


# The next request of client number n: the test's tag, and the bytes.
Compose = Callable[[int], tuple[Any, bytes]]


@contextmanager
def under_load(
    deployment: Deployment,
    compose: Compose,
    clients: int = 8,
    per_second: float = 1e6,
    paces: Mapping[int, float] | None = None,
) -> Iterator[Load]:
    """Send requests over `clients` keep-alive connections while the block runs, at most `per_second` in all.

    `paces` sets single clients' requests per second; the others share the rest of `per_second`.
    """
    load, stop = Load(), threading.Event()
    own = paces or {}
    shared = (per_second - sum(own.values())) / (clients - len(own))

    async def client(number: int) -> None:
        connection, pause = None, 1 / own.get(number, shared)
        while not stop.is_set():
            begun = time.monotonic()
            if connection is None:
                try:
                    connection = await asyncio.open_connection("127.0.0.1", deployment.port)
                except OSError:
                    load.refused += 1
                    await asyncio.sleep(0.02)
                    continue
            tag, raw = compose(number)
            reply = await reply_on(*connection, raw)
            ended = time.monotonic()
            load.exchanges.append(Exchange(tag, reply, begun, ended))
            if reply.status == 0 or reply.headers.get("connection") == "close":
                connection[1].close()
                connection = None
            await asyncio.sleep(max(begun + pause - ended, 0))
        if connection:
            connection[1].close()

    async def all_clients() -> None:
        await asyncio.gather(*(client(number) for number in range(clients)))

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(lambda: asyncio.run(all_clients()))
        try:
            yield load
        finally:
            stop.set()
            running.result()


async def reply_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, raw: bytes) -> Reply:
    """Send a request on a keep-alive connection and return the reply."""
    try:
        async with asyncio.timeout(REPLY_SECONDS):
            writer.write(raw)
            head = await reader.readuntil(b"\r\n\r\n")
            reply = Reply.parse(head, has_body=False)
            return replace(reply, content=await reader.readexactly(int(reply.headers["content-length"])))
    except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
        return Reply(0)
