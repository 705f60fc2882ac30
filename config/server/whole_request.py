"""A request that arrived completely, like most access checks, served without most of uvicorn's setup."""

import re
from asyncio import Event, Transport
from functools import cached_property, partial
from select import POLLERR, POLLHUP, POLLRDHUP, poll
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_WHOLE_BYTES = 16 * 1024
IS_PLAIN_PATH = re.compile(rb"/[A-Za-z0-9/._-]*").fullmatch  # no escapes, no query


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
        self.scope["path"], self.scope["raw_path"], self.scope["query_string"] = path, protocol.url, b""
        is_awaited = partial(is_connected, protocol.transport)
        extensions: Any = {"body": body, "respond": self.respond, "is_awaited": is_awaited}
        self.scope["extensions"] = extensions
        self.body: Any = body
        self.transport, self.flow, self.logger = protocol.transport, protocol.flow, protocol.logger
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
        lines = [b"%b: %b\r\n" % header for header in self.default_headers]
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        self.transport.write(b"".join((STATUS_LINE[status], *lines, head, b"\r\n", body)))
        self.response_started = self.response_complete = True
        if "message_event" in vars(self):
            self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        self.scope = None  # breaks a reference cycle, which the garbage collector would have to find
        return True
