"""Runs a WSGI application in a thread for an ASGI request, with one thread switch in each direction.

Only streamed replies switch more often, once per chunk.
"""

import asyncio
from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, BinaryIO

from a2wsgi.wsgi import build_environ

from kit.http.bodies import Scope, Send
from kit.telemetry.metrics import Counter

BODYLESS = (204, 304)
broken_replies = Counter(
    "licensing_broken_replies", "Exports that failed while they were sent; the client sees an incomplete transfer."
)


class BrokenReply(Exception):
    """A streamed reply failed after it had begun; the failure is the cause.

    The server logs it and closes the connection early, so that the client sees an incomplete transfer.
    """

    def __init__(self, scope: Scope, sent: int, request_id: str) -> None:
        super().__init__(f"The reply to {scope['method']} {scope['path']} broke off after {sent} bytes of its body.")
        self.request_id = request_id


class Exchange:
    """A request to a WSGI application and its reply. Created on the event loop, run in a thread."""

    def __init__(self, wsgi: Any, scope: Scope, body: BinaryIO, send: Send) -> None:
        self.wsgi, self.scope, self.send = wsgi, scope, send
        self.environ: Any = build_environ(scope, body)  # type: ignore[arg-type]
        self.loop = asyncio.get_running_loop()
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []

    def run(self) -> bytes | None:
        """Run the application. Returns the reply's body, or None if it was streamed."""
        reply = self.wsgi(self.environ, self.start_response)
        try:
            if not getattr(reply, "streaming", False):
                return b"".join(reply)
            self.stream(reply)
            return None
        finally:
            getattr(reply, "close", lambda: None)()

    def stream(self, reply: Iterable[bytes]) -> None:
        """Send a reply in chunks. Raises BrokenReply."""
        self.tell(self.head())
        sent = 0
        try:
            for chunk in reply:
                self.tell({"type": "http.response.body", "body": chunk, "more_body": True})
                sent += len(chunk)
        except Exception as error:
            broken_replies.add(broken_replies.place())
            request_id = dict(self.headers).get(b"x-request-id", b"-").decode("latin-1")
            raise BrokenReply(self.scope, sent, request_id) from error
        self.tell({"type": "http.response.body", "body": b""})

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[..., None]:
        self.status = int(status.partition(" ")[0])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return self.write

    def write(self, chunk: bytes) -> None:
        raise AssertionError("Django sends what its response yields")

    def head(self) -> MutableMapping[str, Any]:
        return {"type": "http.response.start", "status": self.status, "headers": self.headers}

    def tell(self, message: MutableMapping[str, Any]) -> None:
        """Send a message and wait until the client has read enough of the previous ones."""
        asyncio.run_coroutine_threadsafe(self.send(message), self.loop).result()  # type: ignore[arg-type]

    async def answer(self, body: bytes) -> None:
        """Send a complete reply, in one write if the server supports it (config.server.whole_request)."""
        if self.status not in BODYLESS and b"content-length" not in dict(self.headers):
            self.headers.append((b"content-length", b"%d" % len(body)))
        at_once = self.scope.get("extensions", {}).get("respond")
        if at_once is not None:
            lines = b"".join([b"%b: %b\r\n" % header for header in self.headers])
            if at_once(self.status, lines, b"" if self.scope["method"] == "HEAD" else body):
                return
        await self.send(self.head())
        await self.send({"type": "http.response.body", "body": body})
