"""The HTTP protocol of the server: uvicorn's, with bounds on a request's head, and a shorter way for most requests."""

import re
from asyncio import Event
from functools import cached_property
from typing import Any

import orjson
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from config.api.middleware import parse_address

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100
IS_PLAIN_PATH = re.compile(rb"/[A-Za-z0-9/._-]*").fullmatch  # it has nothing to decode, and no query


class HeadTooLarge(ValueError):
    """More headers than any client needs: reading on would only cost memory and time."""


class BoundedProtocol(HttpToolsProtocol):
    """Answers 400 and closes the connection when a head grows too large.

    A plain request that has come whole, as an access check does, is served by a WholeRequest.
    """

    head_bytes = 0  # of its headers, as far as they are complete
    head_is_complete = False
    unfinished = 0  # bytes read since the head began or its last header ended, but for the read in which it did
    may_come_whole = False
    body = b""

    def data_received(self, data: bytes) -> None:
        self.unfinished += len(data)
        super().data_received(data)
        if self.may_come_whole:  # it did not
            self.may_come_whole = False
            super().on_headers_complete()
            if self.body:
                super().on_body(self.body)
        if self.unfinished > MAX_HEAD_BYTES and not self.head_is_complete and not self.transport.is_closing():
            self.send_400_response("The head of the request is larger than 64 KiB.")

    def on_message_begin(self) -> None:
        self.head_bytes, self.head_is_complete, self.unfinished = 0, False, 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self.head_bytes += len(name) + len(value)
        self.unfinished = 0
        if len(self.headers) > MAX_HEADERS or self.head_bytes > MAX_HEAD_BYTES:
            raise HeadTooLarge

    def on_headers_complete(self) -> None:
        self.head_is_complete = True
        self.may_come_whole = (
            IS_PLAIN_PATH(self.url) is not None
            and (self.cycle is None or self.cycle.response_complete)  # others wait for their turn
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
            and self.parser.get_http_version() == "1.1"
        )
        if self.may_come_whole:
            self.body = b""
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.may_come_whole:
            self.body += body
        else:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self.may_come_whole:
            self.may_come_whole = False
            self.cycle = WholeRequest(self)
            self._start_asgi_task(self.cycle, self.app)
        else:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """In the API's envelope: what cannot be parsed has no path, so it may have been meant for /v1."""
        # Models, which must not be loaded before the application is.
        from accounts.throttling import headers_for_stranger  # noqa: PLC0415

        limits = headers_for_stranger(parse_address(self.client[0]) if self.client else None)
        error = {"code": "invalid_request", "message": msg, "type": "validation_error"}
        body = orjson.dumps({"error": error})
        lines = [
            "HTTP/1.1 400 Bad Request",
            "content-type: application/json",
            f"content-length: {len(body)}",
            f"x-request-id: req_{uuid7().hex}",
            *(f"{name.lower()}: {value}" for name, value in limits.items()),
            "connection: close",
        ]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()


class WholeRequest(RequestResponseCycle):
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

    def __init__(self, protocol: BoundedProtocol) -> None:
        path = protocol.url.decode("ascii")
        self.scope: Any = protocol.scope
        self.scope["method"] = protocol.parser.get_method().decode("ascii")
        self.scope["path"], self.scope["raw_path"], self.scope["query_string"] = path, protocol.url, b""
        self.scope["extensions"] = {"body": protocol.body, "respond": self.respond}  # type: ignore[dict-item]
        self.body: Any = protocol.body
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
