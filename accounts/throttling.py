"""Which limit a request counts against, and the headers that tell of it (spec §8, contract §5)."""

from typing import Any

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

from accounts.authentication import Grant, bearer_token, find_grant
from accounts.limits import DAY, MINUTE, LimitState, Window, limiter
from config.api.errors import ApiError, RateLimitExceeded
from config.api.middleware import Address

ANONYMOUS = (Window(60, MINUTE),)
IPV6_HOST_BITS = 64  # one customer's network: an address alone could be changed with every request


def bucket_of_address(address: Address | None) -> str:
    if address is None:
        return "address:unknown"
    if address.version == 6:
        return f"address:{int(address) >> IPV6_HOST_BITS:x}"
    return f"address:{address}"


def take(request: HttpRequest, grant: Grant | None, *, cost: int = 1) -> LimitState:
    if grant is None:
        state = limiter.take(bucket_of_address(request.client_address), ANONYMOUS, cost=cost)  # type: ignore[attr-defined]
    else:
        per_minute, per_day = grant.limits
        windows = (Window(per_minute, MINUTE), Window(per_day, DAY))
        state = limiter.take(f"account:{grant.account_id}", windows, cost=cost)
    request.limit_state = state  # type: ignore[attr-defined]
    return state


def peek(request: HttpRequest) -> LimitState:
    """The state of the limit that this request would count against, for replies that were made before it counted."""
    try:
        grant = find_grant(bearer_token(request.META.get("HTTP_AUTHORIZATION", "")))
    except ApiError:
        grant = None
    return take(request, grant, cost=0)


class PlanThrottle(BaseThrottle):
    """Counts a request with a key against its account's plan, any other against its client's address."""

    def allow_request(self, request: Any, view: Any) -> bool:
        state = take(request._request, request.auth)
        if not state.allowed:
            raise RateLimitExceeded(
                f"The limit of {state.limit} requests is used up. Try again in {state.retry_after} seconds.",
                retry_after=state.retry_after,
            )
        return True
