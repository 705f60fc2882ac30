"""Reading bodies within time and size limits, and sending errors, for both ASGI applications."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import aclosing
from typing import Any

from django.conf import settings

from kit.http.error_pages import page_of
from kit.http.errors import ApiError, InvalidRequest, told
from kit.http.middleware import request_id_of
from kit.http.rendering import render_json

Scope = MutableMapping[str, Any]  # as ASGI's own types have it
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Disconnected(Exception):
    """The client has gone before its body had come: there is nobody to answer, and nothing may be done."""


def declared_length(scope: Scope) -> int | None:
    """What Content-Length says; None for a body of unknown length."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    return int(declared) if declared.isdigit() else None


async def parts_of(scope: Scope, receive: Receive, begun: bytes = b"") -> AsyncGenerator[bytes, None]:
    """What has been read of a body, and the rest as it comes. Raises Disconnected; InvalidRequest where it is late."""
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
    """The body; of one that is too large, more than allowed. Raises Disconnected and InvalidRequest."""
    whole: bytes | None = scope.get("extensions", {}).get("body")  # of config.server: there is nothing to wait for
    if whole is not None:
        return whole
    if (declared_length(scope) or 0) > max_bytes:
        return bytes(max_bytes + 1)
    read: list[bytes] = []
    size = 0
    async with aclosing(parts_of(scope, receive)) as parts:
        async for part in parts:
            read.append(part)
            size += len(part)
            if size > max_bytes:
                break
    return b"".join(read)


async def send_error(
    error: ApiError, send: Send, headers: dict[str, str], sent_id: str = "", accept: str = "", *, close: bool = True
) -> None:
    """The error, with the headers of rate limits; `sent_id` is what the client calls its request.

    With `close` the connection ends. A client that is still sending its body may not see the reply then: to close a
    connection with something unread in it resets it. Left open, the rest is read and dropped (config.server.protocol
    has bounds for that).
    """
    reply, media_type = told(error, accept)
    await send_whole(error.status_code, media_type.encode(), render_json(reply), headers, sent_id, send, close=close)


async def send_page(error: ApiError, send: Send, *, close: bool = True) -> None:
    """The same to a browser."""
    media = b"text/html; charset=utf-8"
    await send_whole(error.status_code, media, page_of(error), error.headers, "", send, close=close)


async def send_whole(
    status: int, media: bytes, body: bytes, headers: dict[str, str], sent_id: str, send: Send, *, close: bool
) -> None:
    lines = [
        (b"content-type", media),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", request_id_of(sent_id).encode()),
        *((name.lower().encode(), value.encode()) for name, value in headers.items()),
    ]
    if close:
        lines.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
