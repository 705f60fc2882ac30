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
from accounts.keys.authentication import Grant, Networks, bearer_token, grant_of, is_within
from accounts.limits.limiter import ACCOUNT, AT_EDGE, limiter
from accounts.limits.windows import DAY, MINUTE, Consume, LimitState, Window
from kit.http.admission import done_before
from kit.http.errors import MissingApiKey, RateLimitExceeded
from kit.http.middleware import Address, client_address_of, network_of

if TYPE_CHECKING:  # DRF's views import this module
    from rest_framework.views import APIView

ANONYMOUS = (Window(60, MINUTE),)
NAMES = {MINUTE: '"minute"', DAY: '"day"'}  # window names as structured field strings


class CountedRequest(HttpRequest):
    """A request that has passed PlanThrottle."""

    limit_state: LimitState


def bucket_of_address(address: Address | None) -> str:
    return "address:unknown" if address is None else f"address:{network_of(address)}"


@lru_cache(maxsize=10_000)
def plan_consume(account_id: str, per_minute: int, per_day: int) -> Consume:
    return Consume(f"{ACCOUNT}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)))


@lru_cache(maxsize=10_000)
def edge_consume(account_id: str, per_minute: int, per_day: int) -> Consume:
    """Return what an edge request consumes: a meter, which never refuses a visitor."""
    return Consume(f"{AT_EDGE}{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)), is_meter=True)


def consume_of(grant: Grant | None, address: Address | None, cost: int = 1) -> Consume:
    """Return what a request consumes: of its account's plan or, without a key, of its address's limit."""
    if grant is None:
        return Consume(bucket_of_address(address), ANONYMOUS, cost)
    consume = plan_consume(grant.account_id, *grant.limits)
    return consume if cost == consume.cost else replace(consume, cost=cost)


def refuse_beyond(state: LimitState) -> None:
    """Raise RateLimitExceeded if the request was not granted."""
    if not state.allowed:
        period = "day" if state.seconds == DAY else "minute"
        raise RateLimitExceeded(
            f"The limit of {state.limit} requests a {period} is used up. Try again in {state.retry_after} seconds.",
            retry_after=state.retry_after,
        )


def headers_of(state: LimitState) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(state.limit),
        "X-RateLimit-Remaining": str(state.remaining),
        "X-RateLimit-Reset": str(state.reset),
        "RateLimit-Policy": policy_of(state.windows),
        "RateLimit": f"{NAMES[state.seconds]};r={state.remaining};t={state.seconds_left}",
    }


@lru_cache(maxsize=1_000)
def policy_of(windows: tuple[Window, ...]) -> str:
    """Return the value of `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers)."""
    return ", ".join(f"{NAMES[window.seconds]};q={window.limit};w={window.seconds}" for window in windows)


def state_for_stranger(address: Address | None) -> LimitState:
    """Return the state for an event-loop reply made before the sender is known."""
    return limiter.known_here(consume_of(None, address))


def headers_for_stranger(address: Address | None) -> dict[str, str]:
    return headers_of(state_for_stranger(address))


class KnownKeys:
    """The limits of recently authenticated keys, as this process knows them.

    For code that needs the caller before the request may cost anything. A key never changes its account; its limits
    may be slightly outdated.
    """

    MOST = 10_000

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: OrderedDict[bytes, tuple[Consume, Networks]] = OrderedDict()  # by keytext.name_in_cache

    def note(self, header: str, consume: Consume, networks: Networks) -> None:
        try:
            name = keytext.name_in_cache(bearer_token(header))
        except MissingApiKey:  # the key came in another header
            return
        with self.lock:
            self.known[name] = consume, networks
            self.known.move_to_end(name)
            if len(self.known) > self.MOST:
                self.known.popitem(last=False)

    def find(self, header: str, address: Address | None) -> Consume | None:
        """Look up an Authorization header. Returns None if the key is unknown or excludes the address."""
        try:
            name = keytext.name_in_cache(bearer_token(header))
        except MissingApiKey:
            return None
        consume, networks = self.known.get(name, (None, ()))
        return consume if is_within(address, networks) else None

    def forget(self, header: str) -> None:
        """Forget a key that has ended."""
        try:
            name = keytext.name_in_cache(bearer_token(header))
        except MissingApiKey:
            return
        with self.lock:
            self.known.pop(name, None)


known_keys = KnownKeys()


def caller_of(header: str, address: Address | None) -> str:
    """Return the bucket of a request, without a query: its account's if known, otherwise its address's."""
    consume = known_keys.find(header, address)
    return bucket_of_address(address) if consume is None else consume.bucket


def known_limit(header: str, address: Address | None) -> LimitState:
    """Return the state of the request's limit as this process knows it, without waiting."""
    return limiter.known_here(known_keys.find(header, address) or consume_of(None, address))


def limit_of_uncounted(request: HttpRequest) -> LimitState:
    """Return the state for a reply made before the request was counted, without a query.

    For a known key: what is left of its account's plan. All other requests count against their address and are
    rejected beyond its limit, so that an invented key gains nothing.
    """
    address = client_address_of(request)
    consume = known_keys.find(request.META.get("HTTP_AUTHORIZATION", ""), address)
    if consume is not None:
        return limiter.consume(replace(consume, cost=0))
    return limiter.consume(consume_of(None, address))


class PlanThrottle(BaseThrottle):
    """Counts requests against the account's plan or, without a key, against the client's address."""

    def allow_request(self, request: Request, view: "APIView") -> bool:
        header, address = request.META.get("HTTP_AUTHORIZATION", ""), client_address_of(request._request)
        grant = None if request.auth is None else grant_of(request)
        consume = consume_of(grant, address)
        if grant is not None:
            known_keys.note(header, consume, grant.networks)
        elif view.authentication_classes and known_keys.find(header, address) is not None:
            known_keys.forget(header)  # the key has ended
        state = done_before(request).get("limit_state") or limiter.consume(consume)
        cast(CountedRequest, request._request).limit_state = state
        refuse_beyond(state)
        return True
