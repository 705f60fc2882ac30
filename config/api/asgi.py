"""What the two ASGI ways of serving share: a body read in time and in bounds."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, MutableMapping
from contextlib import aclosing
from typing import Any

from django.conf import settings

from config.api.errors import ApiError, InvalidRequest
from config.api.middleware import request_id_of
from config.api.rendering import render_json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]


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


async def send_error(error: ApiError, send: Send, limits: dict[str, str], *, close: bool) -> None:
    """The envelope, with the headers of rate limits. With `close` the connection ends.

    A client that is still sending its body may not see the reply then: to close a connection with something unread in
    it resets it. Left open, the rest is read and dropped (config.server.protocol has bounds for that).
    """
    body = render_json({"error": error.as_dict()})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", request_id_of("").encode()),
        *((name.lower().encode(), value.encode()) for name, value in {**limits, **error.headers}.items()),
    ]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})
