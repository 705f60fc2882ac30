"""An HTTP client that only connects to verified addresses.

Each request resolves the host once, requires every address to be public, and connects to one of them. DNS rebinding
gains nothing, because there is no second lookup. TLS verifies the host name, which is also sent as SNI and Host. The
client follows no redirects, ignores proxy variables and never reuses a connection.
"""

import asyncio
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, cast

import certifi
import httpcore

from kit.outbound.destinations import DestinationRefused, as_address, check_address, check_url
from kit.values.networks import Address

HEAD_BYTES = 16 * 1024  # for a reply's head, including preceding 1xx responses
MIN_PIECES = 256
PIECE_BYTES = 512  # average for a long body; TCP segments carry twice as much
TIMEOUT_SECONDS = 15  # total time limit of a request: lookup, connection, sending, reply
MAX_BYTES = 64 * 1024  # limit of a reply's body
MAX_LOOKUPS = 64  # concurrent name lookups, so that one unresponsive name server does not delay the others
MAX_ADDRESSES = 4  # addresses to try per name


class AllowanceSpent(Exception):
    """The reply exceeds its limit of bytes or pieces."""


class Allowance:
    """The bytes and pieces left for a reply: first its head, then its body.

    Every piece and every informational (1xx) response costs CPU time to parse. A receiver that sends them endlessly
    would slow down this process until the request times out.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.pieces = MIN_PIECES + most_bytes // PIECE_BYTES
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
        self.stream = stream
        self.allowance = allowance

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


# httpcore tries to import sniffio for each lock. If it is not installed, each attempt searches the disk, a third of a
# request's CPU time. None marks it as absent.
if find_spec("sniffio") is None:
    cast(dict[str, Any], sys.modules)["sniffio"] = None

Resolve = Callable[[str, int], Awaitable[list[Address]]]


class Unreachable(Exception):
    """No reply arrived. The message names the failing step: name, connection, TLS, protocol or time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply; `body` is cut at the requested limit."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes = field(repr=False)


@cache
def name_lookups() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_LOOKUPS, thread_name_prefix="name-lookup")


async def resolve_by_system(host: str, port: int) -> list[Address]:
    """Return every address that the system's resolver knows for the name. Raises OSError."""
    answers = await asyncio.get_running_loop().run_in_executor(
        name_lookups(), lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    return list(dict.fromkeys(ip_address(str(sockaddr[0])) for *_, sockaddr in answers))


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Connect to a verified address, never to a name, and meter what is read."""

    def __init__(
        self, plain: httpcore.AsyncNetworkBackend, resolve: Resolve, allowance: Allowance, *, allow_private: bool
    ) -> None:
        self.plain = plain
        self.resolve = resolve
        self.allowance = allowance
        self.allow_private = allow_private

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        literal = as_address(host)
        try:
            addresses = [literal] if literal is not None else await self.resolve(host, port)
        except OSError:
            raise httpcore.ConnectError("The name could not be resolved.") from None
        if not addresses:
            raise httpcore.ConnectError("The name has no address.")
        for address in addresses:
            check_address(address, allow_private=self.allow_private)
        failure: Exception | None = None
        for address in addresses[:MAX_ADDRESSES]:
            try:
                stream = await self.plain.connect_tcp(str(address), port, timeout, local_address, socket_options)
                return MeteredStream(stream, self.allowance)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise httpcore.ConnectError("The connection was refused or timed out.") from failure

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise DestinationRefused("A socket of this machine is no destination.")

    async def sleep(self, seconds: float) -> None:
        await self.plain.sleep(seconds)


@cache
def trusted_certificates() -> ssl.SSLContext:
    """Return a TLS context with the system's certificate authorities (or those of $SSL_CERT_FILE) and certifi's.

    Loading them takes tens of milliseconds of CPU time, so all clients of the process share one context.
    """
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


class Client:
    """Send requests to public addresses from one event loop. `allow_private` lifts the restriction for development."""

    def __init__(
        self,
        *,
        allow_private: bool = False,
        resolve: Resolve = resolve_by_system,
        certificates: ssl.SSLContext | None = None,
    ) -> None:
        self.resolve = resolve
        self.allow_private = allow_private
        self.plain: httpcore.AsyncNetworkBackend = httpcore.AnyIOBackend()
        self.certificates = certificates or trusted_certificates()

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        seconds: float = TIMEOUT_SECONDS,
        most_bytes: int = MAX_BYTES,
    ) -> Reply:
        """Return the reply, whatever its status.

        Raises DestinationRefused for the URL, or Unreachable without a reply in time.
        """
        check_url(url, allow_private=self.allow_private)
        raw_headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in (headers or {}).items()]
        if body or method not in ("GET", "HEAD"):
            raw_headers.append((b"Content-Length", b"%d" % len(body)))
        limits = dict.fromkeys(("connect", "read", "write"), seconds)
        allowance = Allowance(most_bytes)
        backend = CheckedBackend(self.plain, self.resolve, allowance, allow_private=self.allow_private)
        connection = httpcore.AsyncHTTPConnection(httpcore.URL(url).origin, self.certificates, network_backend=backend)
        try:
            async with (
                asyncio.timeout(seconds),
                connection,
                connection.stream(
                    method, url, headers=raw_headers, content=body, extensions={"timeout": limits}
                ) as response,
            ):
                return Reply(
                    response.status,
                    {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers},
                    await read_beginning(response, allowance),
                )
        except AllowanceSpent:
            raise Unreachable("The head of the reply, or what came before it, is too long.") from None
        except (TimeoutError, httpcore.TimeoutException):
            raise Unreachable(f"There was no complete reply within {seconds:g} seconds.") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise Unreachable(f"{type(error).__name__}: {error}"[:300]) from None


async def read_beginning(response: httpcore.Response, allowance: Allowance) -> bytes:
    """Return the body as far as the allowance permits."""
    body = bytearray()
    allowance.begin_body()
    with suppress(AllowanceSpent):
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) >= allowance.most_bytes:
                break
            allowance.take_piece()
    return bytes(body[: allowance.most_bytes])
