"""Limits of headers and queries.

They apply before any header is parsed, because unauthenticated clients control them. Headers without a row reach
neither Django (config.asgi) nor the event loop.
"""

from collections.abc import Iterable
from typing import NamedTuple

from kit.http.errors import InvalidRequest

MAX_TARGET = 8 * 1024  # bytes in a request's path and query
MAX_PARAMETERS = 500  # in a query


class Limit(NamedTuple):
    most: int  # bytes, with repeated lines joined
    purpose: str


LIMITS = {
    # Requests of the API
    b"authorization": Limit(4_352, "API key, licence token, Basic credentials"),
    b"x-licensing-key": Limit(256, "API key of the edge"),
    b"host": Limit(300, "host name and port"),
    b"accept": Limit(1_024, "format of the reply"),
    b"accept-encoding": Limit(512, "compression of the reply"),
    b"content-type": Limit(512, "format of the body"),
    b"content-length": Limit(256, "length of the body"),
    b"transfer-encoding": Limit(256, "framing of the body"),
    b"idempotency-key": Limit(512, "retries"),
    b"if-match": Limit(4_096, "conditional writes"),
    b"if-none-match": Limit(4_096, "conditional reads"),
    b"if-modified-since": Limit(256, "static files"),
    b"if-unmodified-since": Limit(256, "static files"),
    b"range": Limit(256, "static files"),
    b"x-request-id": Limit(1_024, "request id; replaced if longer than 128"),
    b"user-agent": Limit(4_096, "crawlers; recorded up to 1,000 characters"),
    b"origin": Limit(512, "CORS, CSRF protection"),
    b"access-control-request-method": Limit(256, "CORS"),
    b"access-control-request-private-network": Limit(256, "CORS"),
    b"traceparent": Limit(256, "traces, from trusted proxies"),
    b"tracestate": Limit(1_024, "traces, from trusted proxies"),
    # Pages
    b"cookie": Limit(8_192, "admin session; visitors of the edge, from proxies that cannot pick one cookie"),
    b"referer": Limit(4_096, "CSRF protection of the admin; at the edge its host"),
    b"x-csrftoken": Limit(256, "CSRF protection of the admin"),
    # Proxies
    b"forwarded": Limit(1_024, "closes `/metrics` if present"),
    b"via": Limit(1_024, "closes `/metrics` if present"),
    b"x-real-ip": Limit(256, "closes `/metrics` if present"),
    b"x-forwarded-for": Limit(1_024, "client address, from trusted proxies"),
    b"x-forwarded-proto": Limit(256, "scheme, from trusted proxies"),
    b"x-forwarded-host": Limit(300, "page asked for, from trusted proxies"),
    b"x-forwarded-method": Limit(256, "page asked for, from trusted proxies"),
    b"x-forwarded-uri": Limit(8_192, "page asked for, from trusted proxies"),
    b"x-original-method": Limit(256, "page asked for, from trusted proxies"),
    b"x-original-url": Limit(8_704, "page asked for, from trusted proxies"),
    b"x-licensing-url": Limit(8_704, "page asked for, from a site's own code"),
    b"x-licensing-also": Limit(8_704, "further pages whose text the page shows, from a site's own code"),
    b"x-licensing-method": Limit(256, "page asked for, from a site's own code"),
    b"x-licensing-address": Limit(256, "visitor's address, from a site's own code"),
    b"x-licensing-requester": Limit(4_096, "requester's id, from a site's own code"),
    b"x-licensing-errors": Limit(256, "status of a proxy's own faults"),
    b"x-licensing-visitor": Limit(256, "visitor's cookie, from proxies and a site's own code"),
    # Visitors, as the edge forwards them
    b"signature": Limit(1_024, "Web Bot Auth"),
    b"signature-agent": Limit(512, "Web Bot Auth"),
    b"signature-input": Limit(1_024, "Web Bot Auth"),
    b"crawler-exact-price": Limit(256, "pay per crawl"),
    b"crawler-max-price": Limit(256, "pay per crawl"),
}


def check_lengths(too_long: Iterable[bytes], query: bytes) -> None:
    """Raise InvalidRequest for oversized headers or too many query parameters."""
    for name in too_long:
        shown = name.decode().title()
        raise InvalidRequest(f"{shown} may have up to {LIMITS[name].most:,} bytes.", param=shown)
    if query.count(b"&") >= MAX_PARAMETERS:
        raise InvalidRequest(f"A query may have up to {MAX_PARAMETERS} parameters.")
