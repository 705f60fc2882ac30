"""Which limit a request counts against, and the headers that tell of it (docs/api-guide.md, Limits)."""

from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import Any

from django.http import HttpRequest
from msgspec.structs import replace
from rest_framework.throttling import BaseThrottle

from accounts import keytext
from accounts.authentication import Grant, Networks, bearer_token, check_well_formed, is_within
from accounts.limits.limiter import DAY, MINUTE, Consume, LimitState, Window, limiter
from kit.http.errors import ApiError, MissingApiKey, RateLimitExceeded
from kit.http.middleware import Address, network_of

ANONYMOUS = (Window(60, MINUTE),)


def bucket_of_address(address: Address | None) -> str:
    return "address:unknown" if address is None else f"address:{network_of(address)}"


@lru_cache(maxsize=10_000)
def plan_consume(account_id: str, per_minute: int, per_day: int) -> Consume:
    return Consume(f"account:{account_id}", (Window(per_minute, MINUTE), Window(per_day, DAY)))


def consume_of(grant: Grant | None, address: Address | None, cost: int = 1) -> Consume:
    """What a request consumes: of its account's plan, or without a key of its address's."""
    if grant is None:
        return Consume(bucket_of_address(address), ANONYMOUS, cost)
    consume = plan_consume(grant.account_id, *grant.limits)
    return consume if cost == consume.cost else replace(consume, cost=cost)


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
    return limiter.known_here(consume_of(None, address))


def headers_for_stranger(address: Address | None) -> dict[str, str]:
    return headers_of(state_for_stranger(address))


class KnownKeys:
    """What keys count against, as of their last request that was authenticated in this process.

    For what has to know whose request it is before it costs anything. A key never changes its account; its limits may
    be those of a moment ago.
    """

    MOST = 10_000

    def __init__(self) -> None:
        self.lock = Lock()
        self.known: OrderedDict[bytes, tuple[Consume, Networks]] = OrderedDict()

    def note(self, header: str, consume: Consume, networks: Networks) -> None:
        digest = keytext.digest(bearer_token(header))
        with self.lock:
            self.known[digest] = consume, networks
            self.known.move_to_end(digest)
            if len(self.known) > self.MOST:
                self.known.popitem(last=False)

    def find(self, header: str, address: Address | None) -> Consume | None:
        """By the Authorization header. None from an address that the key is not for."""
        try:
            text = bearer_token(header)
            check_well_formed(text)
        except ApiError:
            return None
        consume, networks = self.known.get(keytext.digest(text), (None, ()))
        return consume if is_within(address, networks) else None

    def forget(self, header: str) -> None:
        """A key that has ended is nobody's any more."""
        try:
            digest = keytext.digest(bearer_token(header))
        except MissingApiKey:
            return
        with self.lock:
            self.known.pop(digest, None)


known_keys = KnownKeys()


def caller_of(header: str, address: Address | None) -> str:
    """Whom a request is counted for, as far as is known without a query: its key's account, or its address."""
    consume = known_keys.find(header, address)
    return bucket_of_address(address) if consume is None else consume.bucket


def known_limit(header: str, address: Address | None) -> LimitState:
    """The state of the limit that the request would count against, as far as this process knows; nobody is asked."""
    return limiter.known_here(known_keys.find(header, address) or consume_of(None, address))


def limit_of_uncounted(request: HttpRequest) -> LimitState:
    """The state for a reply that was made before the request counted, which costs no query.

    Of a key that this process knows, what is left of its account's plan. Any other request counts against its address,
    and is refused beyond that, for a made-up key must not buy what none does not.
    """
    address = request.client_address  # type: ignore[attr-defined]
    consume = known_keys.find(request.META.get("HTTP_AUTHORIZATION", ""), address)
    if consume is not None:
        return limiter.consume(replace(consume, cost=0))
    return limiter.consume(consume_of(None, address))


class PlanThrottle(BaseThrottle):
    """Counts a request with a key against its account's plan, any other against its client's address."""

    def allow_request(self, request: Any, view: Any) -> bool:
        header, address = request.META.get("HTTP_AUTHORIZATION", ""), request._request.client_address
        consume = consume_of(request.auth, address)
        if request.auth is not None:
            known_keys.note(header, consume, request.auth.networks)
        elif view.authentication_classes and known_keys.find(header, address) is not None:
            known_keys.forget(header)  # it has ended
        state = limiter.consume(consume)
        request._request.limit_state = state
        refuse_beyond(state)
        return True
