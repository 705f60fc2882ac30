"""Response headers on the event loop, and the check of the Host header."""

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qs

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from accounts.keys.authentication import Grant
from accounts.limits.throttling import render_policy, window_label
from accounts.limits.windows import LimitState, Window
from kit.http.headers import LIMITS, MAX_PARAMETERS
from kit.http.middleware import request_id
from kit.rest.deprecated import deprecation_headers

COMMON_HEADERS = (
    "content-type: application/json\r\n"
    "cache-control: no-store\r\n"
    "x-content-type-options: nosniff\r\n"
    f"referrer-policy: {settings.SECURE_REFERRER_POLICY}\r\n"
    f"x-frame-options: {settings.X_FRAME_OPTIONS}\r\n"
    "cross-origin-opener-policy: same-origin\r\n"
    "vary: origin\r\n"
).encode()
FOR_OTHER_ORIGINS = (
    f"access-control-allow-origin: *\r\naccess-control-expose-headers: {', '.join(settings.CORS_EXPOSE_HEADERS)}\r\n"
).encode()
HSTS = b"strict-transport-security: max-age=%d\r\n" % settings.SECURE_HSTS_SECONDS
MAX_HOST = LIMITS[b"host"].most  # bytes: a name of 253, and a port


@lru_cache(maxsize=1_000)
def policy_line(windows: tuple[Window, ...]) -> bytes:
    return f"ratelimit-policy: {render_policy(windows)}\r\n".encode()


@lru_cache(maxsize=1_000)
def window_name(seconds: int, part: str) -> bytes:
    return window_label(seconds, part).encode()


def header_lines(state: LimitState, headers: Mapping[str, str], length: int, *, is_secure: bool) -> bytes:
    """Return the header lines of a reply: common ones and `headers`. `length` is the body's, in bytes."""
    lines = (
        b"%bx-ratelimit-limit: %d\r\nx-ratelimit-remaining: %d\r\nx-ratelimit-reset: %d\r\n"
        b"%bratelimit: %b;r=%d;t=%d\r\nx-request-id: %b\r\ncontent-length: %d\r\n"
    ) % (
        *(COMMON_HEADERS, state.limit, state.remaining, state.reset),
        *(policy_line(state.windows), window_name(state.seconds, state.part), state.remaining, state.seconds_left),
        *(request_id.get().encode("ascii"), length),
    )
    if is_secure:
        lines += HSTS
    if headers:
        lines += "".join([f"{name.lower()}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
    return lines


def deprecation_of(path: str, query: bytes, body: bytes, grant: Grant | None) -> dict[str, str]:
    """Return the deprecation headers of a reply, if the request used anything deprecated."""
    text = query.decode("latin-1") if query.count(b"&") < MAX_PARAMETERS else ""
    account_id = None if grant is None else grant.account_id
    return deprecation_headers("POST", path, parse_qs(text, keep_blank_values=True), body, account_id)


def is_served(host: str) -> bool:
    """Return whether ALLOWED_HOSTS includes the host."""
    return len(host) <= MAX_HOST and is_allowed(host)  # longer hosts are invalid; do not cache them


@lru_cache(maxsize=1000)
def is_allowed(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
