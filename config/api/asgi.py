"""What the two ASGI ways of serving share: a body read in time and in bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from config.api.errors import ApiError, InvalidRequest, page_of
from config.api.middleware import request_id_of
from config.api.rendering import render_json

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

SECONDS_FOR_BODY = 30


class Disconnected(Exception):
    """The client has gone before its body had come: there is nobody to answer, and nothing may be done."""


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """The body; of one that is too large, one byte more than allowed. Raises Disconnected and InvalidRequest."""
    whole: bytes | None = scope.get("extensions", {}).get("body")  # of config.protocol: there is nothing to wait for
    if whole is not None:
        return whole
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > max_bytes:
        return bytes(max_bytes + 1)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SECONDS_FOR_BODY):
            while size <= max_bytes:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                part = message.get("body", b"")
                parts.append(part)
                size += len(part)
                if not message.get("more_body"):
                    break
    except TimeoutError:
        raise InvalidRequest(f"The body did not arrive within {SECONDS_FOR_BODY} seconds.") from None
    return b"".join(parts)


async def send_error(error: ApiError, send: Send, headers: dict[str, str], sent_id: str = "") -> None:
    """The envelope, with the headers of rate limits; the connection ends. `sent_id`: what the client calls it."""
    body = render_json({"error": error.as_dict()})
    await send_last(error.status_code, b"application/json", body, headers, sent_id, send)


async def send_page(error: ApiError, send: Send) -> None:
    """The same to a browser."""
    await send_last(error.status_code, b"text/html; charset=utf-8", page_of(error), error.headers, "", send)


async def send_last(status: int, media: bytes, body: bytes, headers: dict[str, str], sent_id: str, send: Send) -> None:
    lines = [
        (b"content-type", media),
        (b"content-length", b"%d" % len(body)),
        (b"x-request-id", request_id_of(sent_id).encode()),
        (b"connection", b"close"),
        *((name.lower().encode(), value.encode()) for name, value in headers.items()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})
