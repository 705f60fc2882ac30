"""Which limit a request counts against, and the headers that tell of it (spec §8, contract §5)."""

from functools import lru_cache
from typing import Any

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest
from msgspec.structs import replace
from rest_framework.throttling import BaseThrottle

from accounts.authentication import Grant, bearer_token, find_grant
from accounts.limits import DAY, MINUTE, LimitState, Take, Window, limiter
from config.api.errors import ApiError, RateLimitExceeded
from config.api.middleware import Address, network_of

ANONYMOUS = (Window(60, MINUTE),)


def bucket_of_address(address: Address | None) -> str:
    return "address:unknown" if address is None else f"address:{network_of(address)}"


@lru_cache(maxsize=10_000)
def plan_take(account_id: str, per_minute: int, per_day: int) -> Take:
    return Take(f"account:{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)))


def take_of(grant: Grant | None, address: Address | None, cost: int = 1) -> Take:
    """What a request takes: of its account's plan, or without a key of its address's."""
    if grant is None:
        return Take(bucket_of_address(address), ANONYMOUS, cost)
    take = plan_take(grant.account_id, *grant.limits)
    return take if cost == take.cost else replace(take, cost=cost)


def refuse_beyond(state: LimitState) -> None:
    """Raises RateLimitExceeded for a request that found no room."""
    if not state.allowed:
        raise RateLimitExceeded(
            f"The limit of {state.limit} requests is used up. Try again in {state.retry_after} seconds.",
            retry_after=state.retry_after,
        )


def headers_of(state: LimitState) -> dict[str, str]:
    return {
        "X-RateLimit-Limit": str(state.limit),
        "X-RateLimit-Remaining": str(state.remaining),
        "X-RateLimit-Reset": str(state.reset),
    }


def state_for_stranger(address: Address | None) -> LimitState:
    """For what is answered on an event loop before anybody knows whose request it is, or whether it is one."""
    return limiter.known_here(take_of(None, address))


def headers_for_stranger(address: Address | None) -> dict[str, str]:
    return headers_of(state_for_stranger(address))


def peek(request: HttpRequest) -> LimitState:
    """The state of the limit that this request would count against, for replies that were made before it counted.

    Where the key cannot be looked up it is that of the address: the reply stands, whatever the database does.
    """
    try:
        grant = find_grant(bearer_token(request.META.get("HTTP_AUTHORIZATION", "")))
    except (ApiError, OperationalError, InterfaceError):
        grant = None
    return limiter.take(take_of(grant, request.client_address, cost=0))  # type: ignore[attr-defined]


class PlanThrottle(BaseThrottle):
    """Counts a request with a key against its account's plan, any other against its client's address."""

    def allow_request(self, request: Any, view: Any) -> bool:
        state = limiter.take(take_of(request.auth, request._request.client_address))
        request._request.limit_state = state
        refuse_beyond(state)
        return True
