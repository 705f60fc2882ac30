"""Read request bodies within time and size limits, and send errors. Used by both ASGI applications."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any

from django.conf import settings

from kit.http.error_pages import error_page
from kit.http.error_replies import render_error
from kit.http.errors import ApiError, InvalidRequest
from kit.http.headers import valid_request_id
from kit.http.rendering import render_json

Scope = MutableMapping[str, Any]  # as ASGI defines them
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Disconnected(Exception):
    """The client disconnected before its body arrived: stop without a reply and without side effects."""


def declared_length(scope: Scope) -> int | None:
    """Return Content-Length, or None for a body of unknown length."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    return int(declared) if declared.isdigit() else None


async def body_parts(scope: Scope, receive: Receive, begun: bytes = b"") -> AsyncGenerator[bytes, None]:
    """Yield `begun`, then the rest of the body as it arrives.

    Raises Disconnected, or InvalidRequest if the body takes longer than BODY_SECONDS.
    """
    if begun:
        yield begun
    deadline = asyncio.get_running_loop().time() + settings.BODY_SECONDS
    more = True
    while more:
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise InvalidRequest(f"The body did not arrive within {settings.BODY_SECONDS} seconds.") from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        more = message.get("more_body", False)
        yield message.get("body", b"")


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """Return the body; if it is too large, something longer than `max_bytes`.

    Raises Disconnected and InvalidRequest.
    """
    whole: bytes | None = scope.get("extensions", {}).get("body")  # set by config.server, which has read it already
    if whole is not None:
        return whole
    if (declared_length(scope) or 0) > max_bytes:
        return bytes(max_bytes + 1)
    read: list[bytes] = []
    size = 0
    async with aclosing(body_parts(scope, receive)) as parts:
        async for part in parts:
            read.append(part)
            size += len(part)
            if size > max_bytes:
                break
    return b"".join(read)


async def send_error(
    error: ApiError, send: Send, headers: dict[str, str], sent_id: str = "", accept: str = "", *, close: bool = True
) -> None:
    """Send an error with rate-limit headers; `sent_id` is the client's own request id.

    `close` ends the connection. A client that is still sending its body may then miss the reply, because closing with
    unread input resets the connection. With `close=False` the rest is read and dropped within the bounds of
    config.server.protocol.
    """
    reply, media_type = render_error(error, accept)
    await send_whole(error.status_code, media_type.encode(), render_json(reply), headers, sent_id, send, close=close)


async def send_page(error: ApiError, send: Send, *, close: bool = True) -> None:
    """Send an error as an HTML page."""
    media = b"text/html; charset=utf-8"
    await send_whole(error.status_code, media, error_page(error), error.headers, "", send, close=close)


async def send_whole(
    status: int, media: bytes, body: bytes, headers: dict[str, str], sent_id: str, send: Send, *, close: bool
) -> None:
    lines = [
        (b"content-type", media),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", valid_request_id(sent_id).encode()),
        *((name.lower().encode(), value.encode()) for name, value in headers.items()),
    ]
    if close:
        lines.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
