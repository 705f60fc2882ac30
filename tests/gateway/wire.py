"""A BoundedProtocol server on loopback with the test's application, and a client that writes bytes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from uvicorn import Config
from uvicorn.server import ServerState

from config.server.connections import Connections, get_connections
from config.server.protocol import BoundedProtocol
from kit.http.bodies import Disconnected, read_body
from licensing.access.event_loop.application import respond

LAST = b"GET /last HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
Application = Callable[..., Awaitable[None]]


class Echo:
    """Answer each request with its path, headers and body; `done` lists completed requests."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await read_body(scope, receive, 1_000_000)
        except Disconnected:
            return
        await asyncio.sleep(0)  # lets the loop see the rest of the packet before the reply
        self.done.append(scope["path"])
        names = b",".join(name for name, _ in scope["headers"])
        told = b" ".join((b"<" + scope["path"].encode(), body[:100], names + b">"))
        await respond(scope, send, 200, b"content-length: %d\r\n" % len(told), told)


@asynccontextmanager
async def served(application: Application) -> AsyncIterator[tuple[tuple[str, int], Connections]]:
    """Yield a server's address and its connection registry. Connections still open at the end are aborted."""
    config = Config(application, http=BoundedProtocol, log_config=None)
    config.load()
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: BoundedProtocol(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    try:
        yield server.sockets[0].getsockname(), get_connections(state)
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


def exchanged(application: Application, *packets: bytes, last: bytes = LAST, half_closes: bool = False) -> bytes:
    """Write packets one by one and return all bytes that the server sends until it closes the connection.

    With `half_closes` the client ends its half after them.
    """

    async def exchange() -> bytes:
        async with served(application) as (address, _), asyncio.timeout(60):
            reader, writer = await asyncio.open_connection(*address)
            reading = asyncio.create_task(read_all(reader))
            for packet in (*packets, last):
                if not reading.done():
                    writer.write(packet)
                    await asyncio.sleep(0.005)  # a read of its own
            if half_closes:
                writer.write_eof()
            received = await reading
            writer.close()
            return received

    return asyncio.run(exchange())


async def read_all(reader: asyncio.StreamReader) -> bytes:
    """Read until the connection ends or fails."""
    received = b""
    with suppress(ConnectionError):
        while part := await reader.read(65_536):
            received += part
    return received


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


async def settled() -> None:
    """Wait until the loop has processed everything written so far."""
    for _ in range(10):
        await asyncio.sleep(0.001)


async def until(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds. Raises TimeoutError after a minute."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.001)


def post(path: bytes = b"/a", body: bytes = b"body", *headers: bytes) -> bytes:
    lines = (b"POST %b HTTP/1.1" % path, b"Host: localhost", b"Content-Length: %d" % len(body), *headers)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(
    path: bytes = b"/a", body: bytes = b"body", trailers: Sequence[bytes] = (), coding: bytes = b"chunked"
) -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: %b\r\n\r\n" % (path, coding)
    return head + b"%x\r\n%b\r\n0\r\n" % (len(body), body) + b"".join(line + b"\r\n" for line in trailers) + b"\r\n"
