"""Django's side of the server: a request's body on its way to the application, and the reply on its way back.

Bodies are limited before they are read, in memory if small, on disk for operators. Under /v1 a body may have 1 MiB, or
64 KiB without a well-formed key, because such a request is refused anyway. Elsewhere 64 KiB suffice for anonymous
clients, including the login. Larger bodies need an operator's session.

A WSGI application runs in a thread, with one thread switch in each direction. Only streamed replies switch more often,
once per chunk.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass
from io import BytesIO
from time import thread_time
from typing import Any, BinaryIO

from a2wsgi.wsgi import build_environ
from django.conf import settings
from django.urls import Resolver404, resolve

from accounts.keys import keytext
from accounts.keys.authentication import bearer_token
from kit.http.bodies import Receive, Scope, Send, body_parts, declared_length, read_body
from kit.http.errors import MissingApiKey, RequestTooLarge, ServiceUnavailable
from kit.http.parsing import MAX_BYTES
from kit.telemetry.metrics import Counter

if settings.ADMIN:
    from operators.catalogue.uploads import LARGER_FILES, MAX_UPLOAD_BYTES, temporary_file
    from operators.signed_in import is_operator

logger = logging.getLogger(__name__)

SMALL_BODY_BYTES = 64 * 1024
FORM_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
MAX_ON_DISK = 8  # concurrent operator uploads per process
BODYLESS = (204, 304)
broken_replies = Counter(
    "licensing_broken_replies", "Exports that failed while they were sent; the client sees an incomplete transfer."
)

on_disk = 0


def limit_of_form(path: str) -> tuple[int, RequestTooLarge]:
    """Return the most bytes of an operator's form at the path, and the error for a larger one."""
    try:
        larger = LARGER_FILES.get(resolve(path).view_name)
    except Resolver404:
        larger = None
    if larger is None:
        return FORM_BYTES, RequestTooLarge(f"The form is larger than {FORM_BYTES >> 20} MiB.")
    return MAX_UPLOAD_BYTES + SMALL_BODY_BYTES, RequestTooLarge(
        f"The file is larger than {MAX_UPLOAD_BYTES >> 20} MiB. {larger}"
    )


@dataclass(slots=True)
class Body:
    """A complete body, as a file to be read in a thread. If it is too large for /v1, only its length is kept."""

    length: int
    file: BinaryIO
    in_memory: int = 0  # bytes
    is_upload: bool = False

    def close(self) -> None:
        if self.is_upload:
            release(self.file)


async def take_body(scope: Scope, receive: Receive) -> Body:
    """Read the body. Raises Disconnected; outside /v1 also InvalidRequest, RequestTooLarge and ServiceUnavailable."""
    complete_body: bytes | None = scope.get("extensions", {}).get("body")
    if complete_body is not None:  # it came with the head, which only small bodies do (config.server.requests)
        return Body(len(complete_body), BytesIO(complete_body), len(complete_body))
    if scope["path"].startswith("/v1/"):
        max_bytes = MAX_BYTES if has_key(scope) else SMALL_BODY_BYTES
        data = await read_body(scope, receive, max_bytes)
        return Body(len(data), BytesIO(data), len(data)) if len(data) <= max_bytes else Body(MAX_BYTES + 1, BytesIO())
    data = b""
    if (declared_length(scope) or 0) <= SMALL_BODY_BYTES:
        data = await read_body(scope, receive, SMALL_BODY_BYTES)
        if len(data) <= SMALL_BODY_BYTES:
            return Body(len(data), BytesIO(data), len(data))
    return await keep_on_disk(scope, receive, data)


def has_key(scope: Scope) -> bool:
    """Whether the request has a well-formed key. Without one the reply is 401, whatever the body."""
    header = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    try:
        return keytext.is_well_formed(bearer_token(header))
    except MissingApiKey:
        return False


async def keep_on_disk(scope: Scope, receive: Receive, beginning: bytes) -> Body:
    """Store the body of an operator's form or upload on disk; `beginning` is the part already read.

    Raises RequestTooLarge or ServiceUnavailable.
    """
    global on_disk  # noqa: PLW0603 - a count
    path = scope["path"]
    if not (settings.ADMIN and path.startswith("/admin/") and await is_operator(scope["headers"])):
        raise RequestTooLarge("A body may have up to 64 KiB here, and more only from an operator who is signed in.")
    max_bytes, too_large = limit_of_form(path)
    if (declared_length(scope) or 0) > max_bytes:
        raise too_large
    if on_disk >= MAX_ON_DISK:
        raise ServiceUnavailable("As many uploads as this service takes at a time are under way.", retry_after=5)
    on_disk += 1
    file = None
    try:
        file = await asyncio.to_thread(temporary_file)
        body = Body(0, file, is_upload=True)
        # set by config.server.protocol: releases the part from its count of memory
        let_go = scope.get("extensions", {}).get("let_go")
        async with aclosing(body_parts(scope, receive, beginning)) as parts:
            async for part in parts:
                body.length += len(part)
                if body.length > max_bytes:
                    raise too_large
                await asyncio.to_thread(file.write, part)
                if let_go is not None:
                    let_go(len(part))
        await asyncio.to_thread(file.seek, 0)
    except BaseException as error:
        release(file)
        if not isinstance(error, OSError):
            raise
        logger.exception("An upload could not be kept")
        raise ServiceUnavailable("There is no room for the upload.", retry_after=60) from error
    return body


def release(file: BinaryIO | None) -> None:
    """Delete an upload's file and free its slot."""
    global on_disk  # noqa: PLW0603 - a count
    on_disk -= 1
    if file is not None:
        file.close()


class BrokenReply(Exception):
    """A streamed reply failed after it had begun; the failure is the cause.

    The server logs it and closes the connection early, so that the client sees an incomplete transfer.
    """

    def __init__(self, scope: Scope, sent_bytes: int, request_id: str) -> None:
        super().__init__(
            f"The reply to {scope['method']} {scope['path']} broke off after {sent_bytes} bytes of its body."
        )
        self.request_id = request_id


class Exchange:
    """A request to a WSGI application and its reply. Created on the event loop, run in a thread."""

    def __init__(self, wsgi: Any, scope: Scope, body: BinaryIO, send: Send) -> None:
        self.wsgi = wsgi
        self.scope = scope
        self.send = send
        self.environ: Any = build_environ(scope, body)  # type: ignore[arg-type]
        self.loop = asyncio.get_running_loop()
        self.used = 0.0  # seconds of CPU time
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []

    def run(self) -> bytes | None:
        """Run the application. Returns the reply's body, or None if it was streamed."""
        began = thread_time()
        reply: Any = ()
        try:
            reply = self.wsgi(self.environ, self.start_response)
            if not getattr(reply, "streaming", False):
                return b"".join(reply)
            self.stream(reply)
            return None
        finally:
            if hasattr(reply, "close"):
                reply.close()
            self.used = thread_time() - began

    def stream(self, reply: Iterable[bytes]) -> None:
        """Send a reply in chunks. Raises BrokenReply."""
        self.send_message(self.head())
        sent_bytes = 0
        try:
            for chunk in reply:
                self.send_message({"type": "http.response.body", "body": chunk, "more_body": True})
                sent_bytes += len(chunk)
        except Exception as error:
            broken_replies.add(broken_replies.place())
            request_id = dict(self.headers).get(b"x-request-id", b"-").decode("latin-1")
            raise BrokenReply(self.scope, sent_bytes, request_id) from error
        self.send_message({"type": "http.response.body", "body": b""})

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[..., None]:
        self.status = int(status.partition(" ")[0])
        self.headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        return self.write

    def write(self, chunk: bytes) -> None:
        raise AssertionError("Django sends what its response yields")

    def head(self) -> MutableMapping[str, Any]:
        return {"type": "http.response.start", "status": self.status, "headers": self.headers}

    def send_message(self, message: MutableMapping[str, Any]) -> None:
        """Send a message and wait until the client has read enough of the previous ones."""
        asyncio.run_coroutine_threadsafe(self.send(message), self.loop).result()  # type: ignore[arg-type]

    async def answer(self, body: bytes) -> None:
        """Send a complete reply, in one write if the server supports it (config.server.requests)."""
        if self.status not in BODYLESS and b"content-length" not in dict(self.headers):
            self.headers.append((b"content-length", b"%d" % len(body)))
        at_once = self.scope.get("extensions", {}).get("respond")
        if at_once is not None:
            lines = b"".join([b"%b: %b\r\n" % header for header in self.headers])
            if at_once(self.status, lines, b"" if self.scope["method"] == "HEAD" else body):
                return
        await self.send(self.head())
        await self.send({"type": "http.response.body", "body": body})
