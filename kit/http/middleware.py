"""Middleware for every request: request id, client address, and JSON replies under /v1."""

import logging
import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import cast

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from uuid_utils import uuid7

from kit.http.error_pages import error_answer
from kit.http.errors import InvalidRequest
from kit.values.networks import Address, Network, unmap

Handler = Callable[[HttpRequest], HttpResponse]

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


class RequestIdMiddleware:
    """Set `X-Request-Id` on every response: the client's own if it is 1–128 visible ASCII characters."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = request_id.set(valid_request_id(request.headers.get("X-Request-Id", "")))
        try:
            response = self.get_response(request)
            response["X-Request-Id"] = request_id.get()
            return response
        finally:
            request_id.reset(token)


MAX_HOST = 100  # characters of a host in an error
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
        self.trusts = lru_cache(maxsize=1_000)(self.contain)

    def contain(self, address: Address) -> bool:
        return any(address in network for network in self.networks)

    def include(self, peer: str) -> bool:
        address = parse_address(peer)
        return address is not None and self.trusts(address)

    def client_of(self, peer: str, forwarded_for: str | None) -> Address | None:
        """Return the right-most address that is not a trusted proxy; anything to its left can be forged.

        Returns None if a relevant hop is not an address, so that it never counts as the proxy. `forwarded_for` is None
        if there is no such header; a trusted peer is then the client itself.
        """
        client = parse_address(peer)
        hops = [] if forwarded_for is None else forwarded_for.split(",")
        while client is not None and hops and self.trusts(client):
            client = parse_address(hops.pop())
        return client


class AddressedRequest(HttpRequest):
    """A request that passed ClientAddressMiddleware."""

    client_address: Address | None


def get_client_address(request: HttpRequest) -> Address | None:
    return cast(AddressedRequest, request).client_address


class ClientAddressMiddleware:
    """Set `request.client_address`, and remove X-Forwarded-Proto from untrusted peers."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.proxies = TrustedProxies()

    def __call__(self, request: HttpRequest) -> HttpResponse:
        peer = request.META.get("REMOTE_ADDR", "")
        if not self.proxies.include(peer):
            request.META.pop("HTTP_X_FORWARDED_PROTO", None)
        forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR")
        cast(AddressedRequest, request).client_address = self.proxies.client_of(peer, forwarded_for)
        return self.get_response(request)


def unknown_host(host: str) -> InvalidRequest:
    """Return the error for a host that ALLOWED_HOSTS does not include."""
    return InvalidRequest(f"Unknown host {host[:MAX_HOST]!r}. Add it to ALLOWED_HOSTS.", param="Host")


class ApiBoundaryMiddleware:
    """Answer requests for unknown hosts with an API error instead of Django's page."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost:
            return error_answer(unknown_host(request.META.get("HTTP_HOST", "")), request)
        return self.get_response(request)
