"""A request that has come whole, as an access check does: served without most of what uvicorn prepares for others."""

import re
from asyncio import Event
from functools import cached_property
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_WHOLE_BYTES = 16 * 1024
IS_PLAIN_PATH = re.compile(rb"/[A-Za-z0-9/._-]*").fullmatch  # without anything to decode, and without a query


class Cycle(RequestResponseCycle):
    """A request and its reply, as uvicorn makes them, with what BoundedProtocol adds."""

    held: int  # bytes of the body in memory


class WholeRequest(Cycle):
    """A request whose body has come with its head, which spares most of what uvicorn prepares for others.

    Tells the application two things more than ASGI does, as `extensions` of the scope: the `body`, and
    `respond(status, head, body)`, which sends a whole response in one write, or says False if that has to wait.
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
        self.scope["extensions"] = {"body": body, "respond": self.respond}  # type: ignore[dict-item]
        self.body: Any = body
        self.transport, self.flow, self.logger = protocol.transport, protocol.flow, protocol.logger
        self.default_headers = protocol.server_state.default_headers
        self.keep_alive = protocol.parser.should_keep_alive()
        self.on_response = protocol.on_response_complete

    @cached_property
    def message_event(self) -> Event:  # type: ignore[override]
        """Made when somebody waits for more than the body, which is here."""
        event = Event()
        event.set()
        return event

    def respond(self, status: int, head: bytes, body: bytes) -> bool:
        """Sends a response; `head` is its header lines, each with its line end, content-length among them.

        The way of `send`, in one system call for two: a fifth of what serving a check takes. False, and nothing is
        sent, while the client does not read what it was sent before: only `send` waits for that, and what a client
        asks for without reading it would fill the memory.
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
        self.scope = None  # it knows this method: a cycle that the garbage collector would have to find
        return True
