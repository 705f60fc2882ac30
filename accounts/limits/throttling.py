"""Counts each request against its limits, shows them in headers, and refuses it beyond them with a 429."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.keys.authentication import Grant, get_grant, name_in_cache
from accounts.keys.callers import known_grants
from accounts.limits.limiter import limiter
from accounts.limits.windows import (
    ACCOUNT,
    PUBLIC,
    LimitState,
    address_bucket,
    build_headers,
    build_hit,
)
from kit.http.error_replies import error_response
from kit.http.errors import MissingApiKey, RateLimitExceeded
from kit.http.headers import get_client_address
from kit.values.networks import Address

if TYPE_CHECKING:  # DRF's views import this module
    from rest_framework.views import APIView

Handler = Callable[[HttpRequest], HttpResponse]


class CountedRequest(HttpRequest):
    """A request that has passed PlanThrottle."""

    limit_state: LimitState


def thread_pool_owner(header: str, address: Address | None) -> str:
    """Return whose threads a request takes, without a query: its account's if known, otherwise its address's.

    Public keys take none of those for the account's secret keys.
    """
    grant = known_grants.find(header, address)
    if grant is None:
        return address_bucket(address)
    account = f"{ACCOUNT}{grant.account_id}"
    return f"{PUBLIC}:{account}" if grant.is_public else account


def known_limit(header: str, address: Address | None) -> LimitState:
    """Return the state of the request's limit as this process knows it, without waiting.

    `header` is the Authorization header; empty if it is not known.
    """
    return limiter.known_here(build_hit(known_grants.find(header, address), address))


def state_before_authentication(request: HttpRequest) -> LimitState:
    """Return the limit for a reply that is sent before authentication. Counts the request unless its key is known.

    An invented key gains nothing, because its request counts against its address.
    """
    address = get_client_address(request)
    grant = known_grants.find(request.META.get("HTTP_AUTHORIZATION", ""), address)
    return limiter.consume(build_hit(grant, address, cost=1 if grant is None else 0))


def note_grant(header: str, address: Address | None, grant: Grant | None) -> None:
    """Remember the grant of a request whose key was read, or forget the key if it has ended."""
    with suppress(MissingApiKey):  # the key came in another header
        if grant is not None:
            known_grants.put(name_in_cache(header), grant)
        elif known_grants.find(header, address) is not None:
            known_grants.drop(name_in_cache(header))


class PlanThrottle(BaseThrottle):
    """Counts requests against the key's limits or, without a key, against the client's address."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        state: LimitState | None = request.META.get("asgi.scope", {}).get("limit_state")  # of the event loop
        if state is None:
            grant = None if request.auth is None else get_grant(request)
            address = get_client_address(request._request)
            if view.authentication_classes:
                note_grant(request.META.get("HTTP_AUTHORIZATION", ""), address, grant)
            state = limiter.consume(build_hit(grant, address))
        cast(CountedRequest, request._request).limit_state = state
        state.check()
        return True


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/v1/") or request.path == "/v1"


class RateLimitHeadersMiddleware:
    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_api(request) and "X-RateLimit-Limit" not in response:  # checks have counted themselves
            state: LimitState | None = getattr(request, "limit_state", None)
            if state is None and not 400 <= response.status_code < 500:  # a server error, or a browser's preflight
                state = limiter.consume(build_hit(None, get_client_address(request), cost=0))
            elif state is None:
                state = state_before_authentication(request)
                try:
                    state.check()
                except RateLimitExceeded as error:
                    response = error_response(error, request)
            for name, value in build_headers(state).items():
                response[name] = value
        return response
