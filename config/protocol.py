"""The HTTP protocol of the server, with bounds that uvicorn's own does not have on the head of a request."""

from functools import partial

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

MAX_HEAD_BYTES = 64 * 1024
MAX_HEADERS = 100


class HeadTooLarge(ValueError):
    """More headers than any client needs: reading on would only cost memory and time."""


class BoundedProtocol(HttpToolsProtocol):
    """Answers 400 and closes the connection when a head grows too large.

    Tells the application two things more than ASGI does, as `extensions` of the scope: `body_is_here` when the body
    has come with the head, and `respond(status, head, body)`, which sends a whole response in one write, or says False
    if that has to wait.
    """

    head_bytes = 0
    head_is_complete = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.head_is_complete:
            self.head_bytes += len(data)
            if self.head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.send_400_response("The head of the request is larger than 64 KiB.")

    def on_message_begin(self) -> None:
        self.head_bytes, self.head_is_complete = 0, False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MAX_HEADERS or len(name) + len(value) > MAX_HEAD_BYTES:
            raise HeadTooLarge

    def on_headers_complete(self) -> None:
        self.head_is_complete = True
        super().on_headers_complete()
        if self.cycle is not None:
            self.scope["extensions"] = {"respond": partial(respond, self, self.cycle)}  # type: ignore[dict-item]

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if "extensions" in self.scope:
            self.scope["extensions"]["body_is_here"] = {}

    def send_400_response(self, msg: str) -> None:
        """In the API's envelope: what cannot be parsed has no path, so it may have been meant for /v1."""
        error = {"code": "invalid_request", "message": msg, "type": "validation_error"}
        body = orjson.dumps({"error": error})
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head.encode() + body)
        self.transport.close()


def respond(protocol: HttpToolsProtocol, cycle: RequestResponseCycle, status: int, head: bytes, body: bytes) -> bool:
    """Sends a response; `head` is its header lines, each with its line end, content-length among them.

    The way of RequestResponseCycle.send, in one system call for two: a fifth of what serving a check takes. False,
    and nothing is sent, while the client does not read what it was sent before: only `send` waits for that, and what
    a client asks for without reading it would fill the memory.
    """
    if cycle.disconnected:
        return True
    if protocol.flow.write_paused:
        return False
    lines = [b"%b: %b\r\n" % header for header in protocol.server_state.default_headers]
    if not cycle.keep_alive:
        lines.append(b"connection: close\r\n")
    protocol.transport.write(b"".join((STATUS_LINE[status], *lines, head, b"\r\n", body)))
    cycle.response_started = cycle.response_complete = True
    cycle.message_event.set()
    if not cycle.keep_alive:
        protocol.transport.close()
    cycle.on_response()
    return True
