"""Limits on a reply's bytes on the wire and on the number of pieces.

Every piece and every informational (1xx) response costs CPU time to parse. A receiver that sends them endlessly would
slow down this process until the request times out.
"""

import ssl
from collections.abc import Iterable

import httpcore

HEAD_BYTES = 16 * 1024  # for a reply's head, including preceding 1xx responses
LEAST_PIECES = 256
BYTES_A_PIECE = 512  # average for a long body; TCP segments carry twice as much


class AllowanceSpent(Exception):
    """The reply exceeds its limit of bytes or pieces."""


class Allowance:
    """The bytes and pieces left for a reply: first its head, then its body."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.pieces = LEAST_PIECES + most_bytes // BYTES_A_PIECE
        self.bytes = HEAD_BYTES

    def begin_body(self) -> None:
        """Switch to the body's limit. Chunked framing may double its length."""
        self.bytes = 2 * self.most_bytes

    def take_piece(self) -> None:
        """Count one piece. Raises AllowanceSpent at the limit."""
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
    """Connect like `backend`, and meter what is read."""

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
