"""Replies by the server itself, for requests that reach no application."""

import orjson
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from kit.http.errors import ApiError, ServiceUnavailable
from kit.http.middleware import parse_address


def no_room() -> ServiceUnavailable:
    return ServiceUnavailable("The bodies of too many requests are under way. Try again shortly.", retry_after=1)


def refusal(error: ApiError, client: tuple[str, int] | None) -> bytes:
    """Return a reply in the API's envelope, because an unparsable request may have been meant for /v1."""
    # Imports models, which cannot be loaded before the application.
    from accounts.limits.throttling import headers_for_stranger  # noqa: PLC0415

    limits = headers_for_stranger(parse_address(client[0]) if client else None)
    body = orjson.dumps({"error": error.as_dict()})
    lines = [
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"x-request-id: req_{uuid7().hex}",
        *(f"{name.lower()}: {value}" for name, value in {**limits, **error.headers}.items()),
        "connection: close",
    ]
    return STATUS_LINE[error.status_code] + "\r\n".join([*lines, "", ""]).encode() + body
