"""Plan limits: fixed windows counted atomically, in Redis across all processes or otherwise in this process.

Each request counts against its limits, shows them in headers (accounts.limits.windows), and is refused beyond them
with a 429.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from msgspec.structs import replace
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.keys.authentication import Grant, get_grant, name_in_cache
from accounts.keys.callers import known_grants
from accounts.limits.events import note_use
from accounts.limits.redis_counters import RedisCounters
from accounts.limits.redis_servers import Fault, RedisAddress
from accounts.limits.windows import (
    ACCOUNT,
    PUBLIC,
    Consumed,
    Group,
    Hit,
    LimitState,
    ProcessCounters,
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

Counters = ProcessCounters | RedisCounters
Handler = Callable[[HttpRequest], HttpResponse]


class Limiter:
    """This process's limiter. It creates its counters on first use, after any fork."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.made: Counters | None = None
        self.fault: Fault | None = None  # of Redis, when it was last inspected

    @property
    def counters(self) -> Counters:
        if self.made is None:
            with self.lock:
                if self.made is None:
                    url = settings.REDIS_URL
                    self.made = RedisCounters(RedisAddress(url)) if url else ProcessCounters()
        return self.made

    def consume(self, hit: Hit) -> LimitState:
        """Count one request and return the state of its limit."""
        [state] = self.consume_many([hit])
        return state

    def consume_many(self, hits: Sequence[Hit]) -> list[LimitState]:
        """Count simultaneous requests; those with the same bucket and windows pass in the given order."""
        now, merged = int(time.time()), merge(hits)
        return build_states(hits, merged, self.counters.consume(list(merged.values()), now), now)

    def for_event_loop(self) -> Callable[[Sequence[Hit]], Awaitable[list[LimitState]]]:
        """Return `consume_many` for one event loop, which needs no threads for Redis."""
        client = RedisAddress(settings.REDIS_URL).client()

        async def consume_many(hits: Sequence[Hit]) -> list[LimitState]:
            counters, now = self.counters, int(time.time())
            if isinstance(counters, ProcessCounters):
                return self.consume_many(hits)
            merged = merge(hits)
            counted = await counters.count(client, list(merged.values()), now)
            return build_states(hits, merged, counted, now)

        return consume_many

    def known_here(self, hit: Hit) -> LimitState:
        """Return the limit as this process knows it, without counting and without waiting for Redis."""
        counters = self.counters.fallback if isinstance(self.counters, RedisCounters) else self.counters
        uncounted, now = [replace(hit, cost=0)], int(time.time())
        [state] = build_states(uncounted, merge(uncounted), counters.consume(uncounted, now), now)
        return state

    def look(self, hits: Sequence[Hit]) -> list[list[int]]:
        """Return the current counts of each consumer's windows, without counting."""
        uncounted = [replace(hit, cost=0) for hit in hits]
        return [used for _, used in self.counters.consume(uncounted, int(time.time()))]

    def inspect(self) -> None:
        """Connect to Redis, and see whether it counts limits as it should."""
        if isinstance(self.counters, RedisCounters):
            self.fault = self.counters.run(self.counters.find_fault())

    def state(self) -> str:
        """Describe where requests are currently counted, or what is wrong there, for the admin and /readyz."""
        if self.fault is not None:
            return self.fault.code
        if isinstance(self.counters, RedisCounters):
            return "redis" if self.counters.outages.since is None else "per process: Redis does not answer"
        return "this process"


def merge(hits: Sequence[Hit]) -> Mapping[Group, Hit]:
    """Merge those with the same bucket and windows, and add up their costs."""
    merged: dict[Group, Hit] = {}
    for hit in hits:
        group = hit.group
        first = merged.get(group)
        merged[group] = hit if first is None else replace(first, cost=first.cost + hit.cost)
    return merged


def build_states(
    hits: Sequence[Hit], merged: Mapping[Group, Hit], counted: Sequence[Consumed], now: int
) -> list[LimitState]:
    """Return the state of each limit, given the counts of its whole group."""
    by_group = dict(zip(merged, counted, strict=True))
    served = dict.fromkeys(by_group, 0)
    states = []
    for hit in hits:
        group = hit.group
        granted, before = by_group[group]
        if hit.is_meter:
            allowed = True
        elif hit.cost == 0:
            allowed = all(count <= window.limit for window, count in zip(hit.windows, before, strict=True))
        else:
            allowed = served[group] + hit.cost <= granted
        if allowed:
            served[group] += hit.cost
        used = [count + served[group] for count in before]
        state = LimitState.from_counts(hit.windows, used, hit.at or now, allowed=allowed)
        if state.is_near and hit.cost:
            note_use(hit, used, now)
        states.append(state)
    return states


limiter = Limiter()


# --- Requests --------------------------------------------------------------------------------------------------------


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
