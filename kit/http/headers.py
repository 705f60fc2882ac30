"""Reads the client's address and the request's id from the headers, and limits the length of every header.

The limits apply before any header is parsed, because unauthenticated clients control them. Headers without a row reach
neither Django (config.asgi) nor the event loop.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import NamedTuple, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from uuid_utils import uuid7

from kit.http.errors import InvalidRequest
from kit.values.networks import Address, Network, unmap

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


# --- Request ids -----------------------------------------------------------------------------------------------------

request_id: ContextVar[str] = ContextVar("request_id", default="-")
IS_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}").fullmatch


class RequestIdFilter(logging.Filter):
    """Add the current request's id to every log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


def valid_request_id(sent: str) -> str:
    """Return the client's request id if it is valid, otherwise a new one."""
    return sent if IS_REQUEST_ID(sent) else f"req_{uuid7().hex}"


# --- Addresses of clients --------------------------------------------------------------------------------------------

MAX_ADDRESS = 100  # characters, including brackets, scope, port and spaces


def parse_address(text: str) -> Address | None:
    """Parse an IP address, ignoring port and brackets; unmap IPv4-mapped IPv6.

    Returns None if it is not an address.
    """
    return parsed_address(text) if len(text) <= MAX_ADDRESS else None  # keeps long texts out of the cache


@lru_cache(maxsize=10_000)
def parsed_address(text: str) -> Address | None:
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return unmap(address)


IPV6_HOST_BITS = 64  # one customer's network; within it, a client could change its address for every request


def client_network(address: Address) -> str:
    """Return the key that identifies a client for rate limits: its IPv4 address, or its IPv6 /64 network."""
    return f"{int(address) >> IPV6_HOST_BITS:x}" if address.version == 6 else str(address)


class TrustedProxies:
    """The networks in TRUSTED_PROXIES, unless others are given."""

    def __init__(self, networks: Sequence[Network] | None = None) -> None:
        self.networks = list(map(ip_network, settings.TRUSTED_PROXIES)) if networks is None else networks
        # Each request from a proxy asks this several times about the same few addresses.
        self.is_trusted = lru_cache(maxsize=1_000)(self.lies_in_networks)

    def lies_in_networks(self, address: Address) -> bool:
        return any(address in network for network in self.networks)

    def is_trusted_peer(self, peer: str) -> bool:
        address = parse_address(peer)
        return address is not None and self.is_trusted(address)

    def client_of(self, peer: str, forwarded_for: str | None) -> Address | None:
        """Return the right-most address that is not a trusted proxy; anything to its left can be forged.

        Returns None if a relevant hop is not an address, so that it never counts as the proxy. `forwarded_for` is None
        if there is no such header; a trusted peer is then the client itself.
        """
        client = parse_address(peer)
        hops = [] if forwarded_for is None else forwarded_for.split(",")
        while client is not None and hops and self.is_trusted(client):
            client = parse_address(hops.pop())
        return client


class AddressedRequest(HttpRequest):
    """A request that passed RequestMiddleware."""

    client_address: Address | None


def get_client_address(request: HttpRequest) -> Address | None:
    return cast(AddressedRequest, request).client_address


class RequestMiddleware:
    """Set `request.client_address`, and `X-Request-Id` on every response.

    A client may choose the id: 1-128 visible ASCII characters. X-Forwarded-Proto counts from trusted peers only.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.proxies = TrustedProxies()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer, forwarded_for = request.META.get("REMOTE_ADDR", ""), request.META.get("HTTP_X_FORWARDED_FOR")
        cast(AddressedRequest, request).client_address = self.proxies.client_of(peer, forwarded_for)
        if "HTTP_X_FORWARDED_PROTO" in request.META and not self.proxies.is_trusted_peer(peer):
            del request.META["HTTP_X_FORWARDED_PROTO"]
        token = request_id.set(valid_request_id(request.headers.get("X-Request-Id", "")))
        try:
            response = self.get_response(request)
            response["X-Request-Id"] = request_id.get()
            return response
        finally:
            request_id.reset(token)
