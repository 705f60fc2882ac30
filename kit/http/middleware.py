"""Middleware for every request: its id and the client's address."""

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse

from kit.http.client_addresses import AddressedRequest, TrustedProxies
from kit.http.errors import InvalidRequest
from kit.http.request_ids import request_id, valid_request_id

Handler = Callable[[HttpRequest], HttpResponse]
MAX_HOST = 100  # characters of a host in an error


class RequestMiddleware:
    """Set `request.client_address`, and `X-Request-Id` on every response.

    A client may choose the id: 1-128 visible ASCII characters. X-Forwarded-Proto counts from trusted peers only.
    """

    def __init__(self, get_response: Handler) -> None:
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


def unknown_host(host: str) -> InvalidRequest:
    """Return the error for a host that ALLOWED_HOSTS does not include."""
    return InvalidRequest(f"Unknown host {host[:MAX_HOST]!r}. Add it to ALLOWED_HOSTS.", param="Host")
