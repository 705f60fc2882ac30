"""Which limit a request counts against, and its headers (docs/reference/api.md, Limits)."""

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from msgspec.structs import replace
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.keys.authentication import Grant, get_grant, name_in_cache
from accounts.keys.callers import known_grants
from accounts.limits.limiter import limiter
from accounts.limits.windows import (
    ACCOUNT,
    ADDRESS,
    AT_EDGE,
    DAY,
    HOUR,
    MINUTE,
    PUBLIC,
    PUBLIC_ADDRESS,
    Consume,
    LimitState,
    Window,
    build_headers,
)
from kit.http.error_pages import error_page
from kit.http.error_replies import error_response
from kit.http.errors import MissingApiKey, RateLimitExceeded
from kit.http.middleware import Address, client_network, done_before, get_client_address

if TYPE_CHECKING:  # DRF's views import this module
    from rest_framework.views import APIView

ANONYMOUS = (Window(60, MINUTE),)
PUBLIC_PER_ADDRESS = 60  # requests a minute with public keys, from one address
EACH = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}
FOR_OPERATORS = 10  # multiple of the anonymous limit
MOST_SESSIONS = 1_000
FREE = frozenset({"/livez", "/readyz", "/metrics"})

Handler = Callable[[HttpRequest], HttpResponse]


class CountedRequest(HttpRequest):
    """A request that has passed PlanThrottle."""

    limit_state: LimitState


def address_bucket(address: Address | None) -> str:
    """Return the bucket of an address; addresses of an IPv6 /64 share one."""
    return f"{ADDRESS}{'unknown' if address is None else client_network(address)}"


@lru_cache(maxsize=10_000)
def plan_consume(account_id: str, per_minute: int, per_day: int) -> Consume:
    return Consume(f"{ACCOUNT}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)))


@lru_cache(maxsize=10_000)
def edge_consume(account_id: str, per_minute: int, per_day: int) -> Consume:
    """Return what an edge request consumes: a meter, which never refuses a visitor."""
    return Consume(f"{AT_EDGE}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)), is_meter=True)


def build_consume(grant: Grant | None, address: Address | None, cost: int = 1) -> Consume:
    """Return what a request consumes: of its key's limits or, without a key, of its address's."""
    if grant is None:
        return Consume(address_bucket(address), ANONYMOUS, cost)
    per_minute, per_day = grant.limits
    if grant.is_public:
        # Public keys have counters of their own, so that a web page's visitors take nothing from the account's secret
        # keys: half of the plan's minute and day, and at least one request.
        counter = f"{PUBLIC}:{address_bucket(address)}"
        windows = (
            Window(max(per_minute // 2, 1), MINUTE, PUBLIC),
            Window(max(per_day // 2, 1), DAY, PUBLIC),
            Window(PUBLIC_PER_ADDRESS, MINUTE, counter),
        )
        consume = Consume(f"{ACCOUNT}{grant.account_id}", windows)
    else:
        consume = plan_consume(grant.account_id, per_minute, per_day)
    if grant.own_limit is not None:
        own = Window(*grant.own_limit, f"key:{grant.key_id}")
        consume = replace(consume, windows=(*consume.windows, own))
    return consume if cost == consume.cost else replace(consume, cost=cost)


def refuse_beyond(state: LimitState) -> None:
    """Raise RateLimitExceeded if the request was not granted."""
    if not state.allowed:
        raise RateLimitExceeded(
            f"The limit of {state.limit} requests {EACH[state.seconds]}{whose_limit(state.part)} is used up. "
            f"Try again in {state.retry_after} seconds.",
            retry_after=state.retry_after,
        )


def whose_limit(part: str) -> str:
    """Return whom the limit of a part concerns, for an error; empty for the account's own."""
    if not part:
        return ""
    if part == PUBLIC:
        return " for the account's public keys"
    if part.startswith(PUBLIC_ADDRESS):
        return " with public keys from one address"
    return " of this key"


def identify_caller(header: str, address: Address | None) -> str:
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
    return limiter.known_here(build_consume(known_grants.find(header, address), address))


def count_unauthenticated(request: HttpRequest) -> LimitState:
    """Return the state for a reply made before the request was counted, without a query.

    For a known key: what is left of its limits. All other requests count against their address and are
    rejected beyond its limit, so that an invented key gains nothing.
    """
    address = get_client_address(request)
    grant = known_grants.find(request.META.get("HTTP_AUTHORIZATION", ""), address)
    return limiter.consume(build_consume(grant, address, cost=1 if grant is None else 0))


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
        state: LimitState | None = done_before(request).get("limit_state")
        if state is None:
            grant = None if request.auth is None else get_grant(request)
            address = get_client_address(request._request)
            if view.authentication_classes:
                note_grant(request.META.get("HTTP_AUTHORIZATION", ""), address, grant)
            state = limiter.consume(build_consume(grant, address))
        cast(CountedRequest, request._request).limit_state = state
        refuse_beyond(state)
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
                state = limiter.consume(build_consume(None, get_client_address(request), cost=0))
            elif state is None:
                state = count_unauthenticated(request)
                try:
                    refuse_beyond(state)
                except RateLimitExceeded as error:
                    response = error_response(error, request)
            for name, value in build_headers(state).items():
                response[name] = value
        return response


class PageLimitMiddleware:
    """Limits requests per address outside /v1: the front page, the reference, the admin with its login.

    Static files are served earlier, and probes are exempt. A signed-in operator has a separate limit, ten times as
    large; this process recognises the session after its first page.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.sessions: dict[str, None] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api(request) or request.path in FREE:
            return self.get_response(request)
        session = self.session_of(request)
        try:
            refuse_beyond(limiter.consume(self.consume_of_page(request, session)))
        except RateLimitExceeded as error:
            return HttpResponse(error_page(error), status=429, headers=error.headers)
        response = self.get_response(request)
        if response.status_code < 500:  # otherwise the session may be unreadable
            self.learn(request, session)
        return response

    @staticmethod
    def session_of(request: HttpRequest) -> str:
        """Return a digest of the session cookie; empty without one."""
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        return blake2b(cookie.encode(), digest_size=16).hexdigest() if cookie else ""

    def consume_of_page(self, request: HttpRequest, session: str) -> Consume:
        if session in self.sessions:
            return Consume(f"session:{session}", (Window(settings.PAGES_PER_MINUTE * FOR_OPERATORS, MINUTE),))
        address = address_bucket(get_client_address(request))
        return Consume(f"pages:{address}", (Window(settings.PAGES_PER_MINUTE, MINUTE),))

    def learn(self, request: HttpRequest, session: str) -> None:
        """Remember an operator's session, or forget one that has ended."""
        user = getattr(request, "user", None) if session else None
        if user is not None and user.is_authenticated:
            if len(self.sessions) >= MOST_SESSIONS:
                self.sessions.clear()  # the next page of each restores it
            self.sessions[session] = None
        else:
            self.sessions.pop(session, None)
