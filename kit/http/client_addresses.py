"""Addresses of clients, directly or through trusted proxies; the middleware that sets them, and request ids."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from kit.http.request_ids import request_id, valid_request_id
from kit.values.networks import Address, Network, unmap

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
