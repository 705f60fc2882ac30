"""Requests as they are read: checks of head and framing, and requests that arrived in one piece.

A head that two parsers could read differently is refused (RFC 9112). The parser itself rejects Transfer-Encoding
together with Content-Length.
"""

import re
from asyncio import Event, Transport
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from select import POLLERR, POLLHUP, POLLRDHUP, poll
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from kit.http.errors import InvalidRequest, UnknownTransferCoding
from kit.http.headers import LIMITS, MAX_TARGET

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, ASGISendEvent, Scope

Headers = list[tuple[bytes, bytes]]

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
PARSED_AT_ONCE = 4 * 1024  # bytes; pipelined requests are parsed in pieces of this size
MAX_UNREAD_BYTES = 1024**3  # of a body whose request was already answered; closing earlier would reset the reply
HASH = ord("#")  # searching for bytes takes ten times as long
MAX_HOST = LIMITS[b"host"].most
VERSIONS = frozenset({"1.0", "1.1"})
# A name or address, and a port (RFC 9112, section 3.2; RFC 3986, section 3.2.2).
match_host = re.compile(rb"([A-Za-z0-9._~!$&'()*+;=%-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{0,5})?").fullmatch
match_url = re.compile(rb"(?i:https?)://([^/?#]*)(.*)", re.DOTALL).fullmatch
TARGET_TOO_LONG = f"The path and query may have up to {MAX_TARGET:,} bytes."
TOO_LARGE = "The head of the request is larger than 64 KiB, or has more than 100 headers."
MAX_WHOLE_BYTES = 16 * 1024
LIGHT_PATHS = b"/v1/access/"  # beginning of the paths whose requests only await shared calls (kit.storage.light_tasks)
match_plain_path = re.compile(rb"/[A-Za-z0-9/._-]*").fullmatch  # no escapes, no query


def is_connected(transport: Transport) -> bool:
    """Return whether the client still holds the connection, from any thread.

    Asks the socket, because the end of a connection may be waiting to be read behind its request.
    """
    if transport.is_closing():
        return False
    poller = poll()
    poller.register(transport.get_extra_info("socket").fileno(), POLLRDHUP | POLLHUP | POLLERR)
    return not poller.poll(0)


class Cycle(RequestResponseCycle):
    """A uvicorn request and its reply, with the fields that BoundedProtocol adds."""

    held: int  # bytes of its body in memory


class WholeRequest(Cycle):
    """A request whose body arrived with its head, which saves most of uvicorn's setup.

    Adds three `extensions` to the ASGI scope: `body`; `respond(status, head, body)`, which sends a whole response in
    one write, or returns False if the client reads too slowly; and `is_awaited`, whether the client is still there.
    """

    access_log = False
    disconnected = False
    waiting_for_100_continue = False
    more_body = False
    response_started = False
    response_complete = False
    chunked_encoding = None
    expected_content_length = 0

    def __init__(self, protocol: HttpToolsProtocol, body: bytes) -> None:
        path = protocol.url.decode("ascii")
        self.scope: Any = protocol.scope
        self.scope["method"] = protocol.parser.get_method().decode("ascii")
        self.scope["path"] = path
        self.scope["raw_path"] = protocol.url
        self.scope["query_string"] = b""
        is_awaited = partial(is_connected, protocol.transport)
        extensions: Any = {"body": body, "respond": self.respond, "is_awaited": is_awaited}
        self.scope["extensions"] = extensions
        self.body: Any = body
        self.transport = protocol.transport
        self.flow = protocol.flow
        self.logger = protocol.logger
        self.default_headers = protocol.server_state.default_headers
        self.keep_alive = protocol.parser.should_keep_alive()
        self.on_response = protocol.on_response_complete

    @cached_property
    def message_event(self) -> Event:  # type: ignore[override]
        """Return an event that is set, because the body is complete. Created only if something waits for it."""
        event = Event()
        event.set()
        return event

    def respond(self, status: int, head: bytes, body: bytes) -> bool:
        """Send a response; `head` consists of header lines with line ends, including content-length.

        Like `send`, but with one system call instead of two, a fifth of the cost of a check. Returns False without
        sending while the client does not read earlier replies: only `send` waits for that, and unread replies would
        fill the memory.
        """
        if self.disconnected:
            return True
        if self.flow.write_paused:
            return False
        lines = [STATUS_LINE[status]]
        for header in self.default_headers:
            lines.append(b"%b: %b\r\n" % header)
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        self.transport.write(b"".join((*lines, head, b"\r\n", body)))
        self.response_started = self.response_complete = True
        if "message_event" in vars(self):
            self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        self.scope = None  # breaks a reference cycle, which the garbage collector would have to find
        return True


def headers_size(headers: Headers) -> int:
    """Return the bytes of the headers' names and values."""
    return sum([len(name) + len(value) for name, value in headers])


def read_target(target: bytes, http_version: str, hosts: list[bytes], headers: Headers) -> bytes:
    """Return the requested path and query. Raises InvalidRequest for an invalid request line or Host.

    `hosts` are the values of Host. A URL as the target must name the same host; in HTTP/1.0 without Host, it supplies
    the host.
    """
    if http_version not in VERSIONS:
        raise InvalidRequest(f"HTTP/{http_version} is not supported here. Use HTTP/1.1.")
    if len(target) > MAX_TARGET:
        raise InvalidRequest(TARGET_TOO_LONG)
    if len(hosts) != 1 and (hosts or http_version == "1.1"):
        raise InvalidRequest(f"A request needs one Host header, and this one has {len(hosts)}.", param="Host")
    if not target.startswith(b"/"):
        target, authority = split_url(target)
        if not hosts:
            hosts = [authority]
            headers.append((b"host", authority))
        if authority.lower() != hosts[0].lower():
            raise InvalidRequest("The URL of the request names another host than its Host header.", param="Host")
    if hosts and not (len(hosts[0]) <= MAX_HOST and is_host(hosts[0])):
        raise InvalidRequest("Host must be a host name or an address, with or without a port.", param="Host")
    if HASH in target:
        raise InvalidRequest("The path of a request has no fragment.")
    return target


@lru_cache(maxsize=1_000)
def is_host(value: bytes) -> bool:
    return match_host(value) is not None


def split_url(target: bytes) -> tuple[bytes, bytes]:
    """Return a URL's path and query, and its host with port. Raises InvalidRequest for any other target."""
    match = match_url(target)
    if match is None:
        raise InvalidRequest("The target of a request must be a path, or an http URL.")
    path = match[2]
    return (path if path.startswith(b"/") else b"/" + path), match[1]


def check_codings(codings: bytes, http_version: str) -> None:
    """Raise InvalidRequest or UnknownTransferCoding unless Transfer-Encoding is exactly `chunked`, in HTTP/1.1."""
    names = [name.strip(b" \t").lower() for name in codings.split(b",")]
    if http_version != "1.1":
        raise InvalidRequest(f"HTTP/{http_version} has no Transfer-Encoding.", param="Transfer-Encoding")
    if names[-1] != b"chunked" or names.count(b"chunked") > 1:
        raise InvalidRequest("Transfer-Encoding must end with chunked, given once.", param="Transfer-Encoding")
    if len(names) > 1:
        raise UnknownTransferCoding("The only transfer coding served is chunked.", param="Transfer-Encoding")


def build_stand_in(headers: Headers, codings: bytes) -> bytes:
    """Return a head that only tells the parser how the body behind `headers` ends; empty if there is no body.

    The server never switches protocols (RFC 9110, section 7.8). Java's HTTP client offers h2c with each request, and
    the parser stops after such a head, although the body follows in HTTP/1.1.
    """
    if codings:
        return b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    for name, value in headers:
        if name == b"content-length" and value.strip(b"0"):
            return b"POST / HTTP/1.1\r\nContent-Length: " + value + b"\r\n\r\n"
    return b""


async def serve(
    app: "ASGI3Application",
    cycle: Cycle,
    let_go: Callable[[Cycle], None],
    scope: "Scope",
    receive: "ASGIReceiveCallable",
    send: "ASGISendCallable",
) -> None:
    """Serve the request, counting its body as memory until the end, even if the client disconnects."""
    if cycle.waiting_for_100_continue:
        send = partial(send_unasked, cycle)
    try:
        await app(scope, receive, send)
    finally:
        let_go(cycle)


async def send_unasked(cycle: RequestResponseCycle, message: "ASGISendEvent") -> None:
    """Close the connection after a reply to a client that still waits for 100 Continue (RFC 9110, 10.1.1).

    It may omit the body or send it anyway, so what follows could be either the body or a new request.
    """
    if cycle.waiting_for_100_continue and cycle.more_body:
        cycle.keep_alive = False
    await cycle.send(message)
