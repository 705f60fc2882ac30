"""Which limit a request counts against, and its headers (docs/reference/api.md, Limits)."""

from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, cast

from django.http import HttpRequest
from msgspec.structs import replace
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.keys import keytext
from accounts.keys.authentication import Grant, bearer_token, grant_of, is_within
from accounts.limits.limiter import limiter
from accounts.limits.windows import (
    ACCOUNT,
    ADDRESS,
    AT_EDGE,
    DAY,
    HOUR,
    MINUTE,
    PUBLIC_ADDRESS,
    Consume,
    LimitState,
    Window,
)
from kit.http.admission import done_before
from kit.http.errors import MissingApiKey, RateLimitExceeded
from kit.http.middleware import Address, client_network, get_client_address

if TYPE_CHECKING:  # DRF's views import this module
    from rest_framework.views import APIView

ANONYMOUS = (Window(60, MINUTE),)
PUBLIC = "public"  # the part of an account's bucket that its public keys share
PUBLIC_PER_ADDRESS = 60  # requests a minute with public keys, from one address
NAMES = {MINUTE: '"minute"', HOUR: '"hour"', DAY: '"day"'}  # window names as structured field strings
EACH = {MINUTE: "a minute", HOUR: "an hour", DAY: "a day"}


class CountedRequest(HttpRequest):
    """A request that has passed PlanThrottle."""

    limit_state: LimitState


def address_bucket(address: Address | None) -> str:
    return f"{ADDRESS}{address_name(address)}"


def address_name(address: Address | None) -> str:
    """Return the name under which an address is counted; addresses of an IPv6 /64 share one."""
    return "unknown" if address is None else str(client_network(address))


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
    if grant.is_public:
        consume = public_consume(grant, address_name(address))
    else:
        consume = plan_consume(grant.account_id, *grant.limits)
    if grant.own_limit is not None:
        own = Window(*grant.own_limit, f"key:{grant.key_id}")
        consume = replace(consume, windows=(*consume.windows, own))
    return consume if cost == consume.cost else replace(consume, cost=cost)


def public_consume(grant: Grant, address: str) -> Consume:
    """Return what a request with a public key consumes.

    Public keys have counters of their own, so that a web page's visitors take nothing from the account's secret keys.
    """
    per_minute, per_day = public_share(grant.limits)
    windows = (
        Window(per_minute, MINUTE, PUBLIC),
        Window(per_day, DAY, PUBLIC),
        Window(PUBLIC_PER_ADDRESS, MINUTE, f"{PUBLIC_ADDRESS}{address}"),
    )
    return Consume(f"{ACCOUNT}{grant.account_id}", windows)


def public_share(limits: tuple[int, int]) -> tuple[int, int]:
    """Return the share of public keys in a plan: half of its minute and of its day, at least one request."""
    per_minute, per_day = limits
    return max(per_minute // 2, 1), max(per_day // 2, 1)


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


def build_headers(state: LimitState) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(state.limit),
        "X-RateLimit-Remaining": str(state.remaining),
        "X-RateLimit-Reset": str(state.reset),
        "RateLimit-Policy": render_policy(state.windows),
        "RateLimit": f"{window_label(state.seconds, state.part)};r={state.remaining};t={state.seconds_left}",
    }


@lru_cache(maxsize=1_000)
def render_policy(windows: tuple[Window, ...]) -> str:
    """Return the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers)."""
    return ", ".join(
        f"{window_label(window.seconds, window.part)};q={window.limit};w={window.seconds}" for window in windows
    )


def window_label(seconds: int, part: str) -> str:
    """Return the window's name in headers, as a structured field string. The names of a caller's windows differ."""
    if part in ("", PUBLIC):
        return NAMES[seconds]
    return '"address"' if part.startswith(PUBLIC_ADDRESS) else '"key"'


def state_for_stranger(address: Address | None) -> LimitState:
    """Return the state for an event-loop reply made before the sender is known."""
    return limiter.known_here(build_consume(None, address))


def headers_for_stranger(address: Address | None) -> dict[str, str]:
    return build_headers(state_for_stranger(address))


class KnownKeys:
    """The limits of recently authenticated keys, as this process knows them.

    For code that needs the caller before the request may cost anything. A key never changes its account; its limits
    may be slightly outdated.
    """

    MOST = 10_000

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: OrderedDict[bytes, Grant] = OrderedDict()  # by keytext.name_in_cache

    def note(self, header: str, grant: Grant) -> None:
        if (name := name_in_cache(header)) is None:
            return
        with self.lock:
            self.known[name] = grant
            self.known.move_to_end(name)
            if len(self.known) > self.MOST:
                self.known.popitem(last=False)

    def find(self, header: str, address: Address | None) -> Grant | None:
        """Return the grant of an Authorization header, or None if the key is unknown or excludes the address."""
        name = name_in_cache(header)
        grant = None if name is None else self.known.get(name)
        return grant if grant is not None and is_within(address, grant.networks) else None

    def forget(self, header: str) -> None:
        """Forget a key that has ended."""
        if (name := name_in_cache(header)) is not None:
            with self.lock:
                self.known.pop(name, None)


def name_in_cache(header: str) -> bytes | None:
    """Return the cache key of an Authorization header; None if the API key came in another header."""
    try:
        return keytext.name_in_cache(bearer_token(header))
    except MissingApiKey:
        return None


known_keys = KnownKeys()


def identify_caller(header: str, address: Address | None) -> str:
    """Return whose threads a request takes, without a query: its account's if known, otherwise its address's.

    Public keys take none of those for the account's secret keys.
    """
    grant = known_keys.find(header, address)
    if grant is None:
        return address_bucket(address)
    account = f"{ACCOUNT}{grant.account_id}"
    return f"{PUBLIC}:{account}" if grant.is_public else account


def known_limit(header: str, address: Address | None) -> LimitState:
    """Return the state of the request's limit as this process knows it, without waiting."""
    return limiter.known_here(build_consume(known_keys.find(header, address), address))


def count_unauthenticated(request: HttpRequest) -> LimitState:
    """Return the state for a reply made before the request was counted, without a query.

    For a known key: what is left of its limits. All other requests count against their address and are
    rejected beyond its limit, so that an invented key gains nothing.
    """
    address = get_client_address(request)
    grant = known_keys.find(request.META.get("HTTP_AUTHORIZATION", ""), address)
    return limiter.consume(build_consume(grant, address, cost=1 if grant is None else 0))


class PlanThrottle(BaseThrottle):
    """Counts requests against the key's limits or, without a key, against the client's address."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        header, address = request.META.get("HTTP_AUTHORIZATION", ""), get_client_address(request._request)
        grant = None if request.auth is None else grant_of(request)
        consume = build_consume(grant, address)
        if grant is not None:
            known_keys.note(header, grant)
        elif view.authentication_classes and known_keys.find(header, address) is not None:
            known_keys.forget(header)  # the key has ended
        state = done_before(request).get("limit_state") or limiter.consume(consume)
        cast(CountedRequest, request._request).limit_state = state
        refuse_beyond(state)
        return True
