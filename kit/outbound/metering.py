"""Bounds what a reply may cost: its bytes on the wire, and the pieces in which they come.

Each piece and each informational (1xx) response takes processor time to parse. A receiver that sends them without end
would slow down the other requests of this process until the time of its own request is over.
"""

import ssl
from collections.abc import Iterable

import httpcore

HEAD_BYTES = 16 * 1024  # for the head of a reply, with every 1xx response before it
LEAST_PIECES = 256
BYTES_A_PIECE = 512  # on average, of a long body; TCP segments have twice that


class AllowanceSpent(Exception):
    """The reply is longer than is read, or comes in too many pieces."""


class Allowance:
    """What is left of a reply's bytes and pieces; first for its head, then for its body."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.pieces = LEAST_PIECES + most_bytes // BYTES_A_PIECE
        self.bytes = HEAD_BYTES

    def begin_body(self) -> None:
        """Chunked bodies may double their length by the framing of chunks."""
        self.bytes = 2 * self.most_bytes

    def take_piece(self) -> None:
        """Raises AllowanceSpent."""
        if not self.bytes or not self.pieces:
            raise AllowanceSpent
        self.pieces -= 1


class MeteredStream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream, allowance: Allowance) -> None:
        self.stream, self.allowance = stream, allowance

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self.allowance.take_piece()
        data = await self.stream.read(min(max_bytes, self.allowance.bytes), timeout)
        self.allowance.bytes -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self.stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self.stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return MeteredStream(await self.stream.start_tls(ssl_context, server_hostname, timeout), self.allowance)

    def get_extra_info(self, info: str) -> object:
        return self.stream.get_extra_info(info)


class MeteredBackend(httpcore.AsyncNetworkBackend):
    """Connects as `backend` does, and meters what is read."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend, allowance: Allowance) -> None:
        self.backend, self.allowance = backend, allowance

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        connected = await self.backend.connect_tcp(host, port, timeout, local_address, socket_options)
        return MeteredStream(connected, self.allowance)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        return await self.backend.connect_unix_socket(path, timeout, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self.backend.sleep(seconds)
