"""Replies by the server itself, for requests that reach no application."""

import orjson
from httptools import HttpParserError
from uuid_utils import uuid7
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from kit.http.errors import ApiError, InvalidRequest, ServiceUnavailable
from kit.http.headers import parse_address

TLS_HANDSHAKE = b"\x16\x03"
# What to do, by a part of the parser's reason.
HINTS = (
    ("present with", " Send one of the two."),
    ("chunk", " A chunk is its size in hexadecimal, CRLF, that many bytes, CRLF; the last one has size 0."),
    ("Content-Length", " Send it once: the length of the body in bytes."),
    ("Transfer-Encoding", " The only transfer coding served is chunked."),
    ("method", " Begin with GET, POST, PATCH, DELETE, HEAD or OPTIONS, in capitals."),
    ("url", " Percent-encode spaces and characters outside ASCII, as in %20."),
    ("Expected HTTP/", " Percent-encode spaces in the path, as in %20."),
    ("version", " The request line ends with HTTP/1.1, then CRLF."),
    ("header", " A header is `Name: value` in a line of its own, without a space before the colon."),
)


def no_room() -> ServiceUnavailable:
    return ServiceUnavailable("The bodies of too many requests are under way. Try again shortly.", retry_after=1)


def cut_short() -> InvalidRequest:
    return InvalidRequest(
        "The request ended before its head or body was complete. Compare Content-Length with the body."
    )


def unreadable(error: HttpParserError, data: bytes) -> InvalidRequest | ApiError:
    """Return our own error if the parser stopped at one, otherwise one with its reason and what to do."""
    if isinstance(error.__context__, ApiError):
        return error.__context__
    if data.startswith(TLS_HANDSHAKE):
        return InvalidRequest("The request is not HTTP but HTTPS. Use an address with http://, or the proxy's port.")
    reason = str(error)
    hint = next((hint for part, hint in HINTS if part in reason), "")
    return InvalidRequest(f"The request is not valid HTTP/1.1: {reason}.{hint}")


def refusal(error: ApiError, client: tuple[str, int] | None) -> bytes:
    """Return a reply in the API's envelope, because an unparsable request may have been meant for /v1."""
    # Imports models, which cannot be loaded before the application.
    from accounts.limits.limiter import known_limit  # noqa: PLC0415
    from accounts.limits.windows import build_headers  # noqa: PLC0415

    limits = build_headers(known_limit("", parse_address(client[0]) if client else None))
    body = orjson.dumps({"error": error.as_dict()})
    lines = [
        "content-type: application/json",
        f"content-length: {len(body)}",
        f"x-request-id: req_{uuid7().hex}",
        *(f"{name.lower()}: {value}" for name, value in {**limits, **error.headers}.items()),
        "connection: close",
    ]
    return STATUS_LINE[error.status_code] + "\r\n".join([*lines, "", ""]).encode() + body
