"""Values each process keeps ready for later checks: numbers for new requesters, and keys of JWS tokens."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from time import monotonic

from cachetools import TTLCache
from jwt import PyJWK

from kit.http.errors import ApiError
from kit.storage.microbatch import MicroBatch
from licensing.access.event_loop.blocking_calls import find_keys_now, find_signer_now
from licensing.access.event_loop.calls import Calls
from licensing.access.tokens.license_tokens import Claims, check_claims, claims_of, kid_of
from licensing.access.tokens.signing import KEPT_SECONDS, Signer, kept_signer

AT_ONCE = 100  # extra numbers per reservation; unused ones are lost when the process ends

Reserve = Callable[[Sequence[int]], Awaitable[Sequence[int]]]  # reserves as many numbers as the counts add up to


class Numbers:
    """A pool of requester numbers, so that only one new requester in a hundred costs a statement."""

    def __init__(self, reserve: Reserve, calls: Calls) -> None:
        self.reserve = reserve
        self.extra = [AT_ONCE] if calls.are_shared else []
        self.free: deque[int] = deque()
        self.orders: MicroBatch[int, None] = calls.shared(self.fill)

    async def take(self, count: int) -> list[int]:
        while len(self.free) < count:
            await self.orders.submit(count)
        return [self.free.popleft() for _ in range(count)]

    async def fill(self, counts: Sequence[int]) -> list[None]:
        self.free += await self.reserve([*counts, *self.extra])
        return [None] * len(counts)


class Signers:
    """The cached key that signs decisions."""

    def __init__(self, calls: Calls) -> None:
        self.lookups: MicroBatch[None, Signer | ApiError] = calls.shared(calls.blocking("signers", find_signer_now))

    async def current(self) -> Signer | ApiError:
        """Return the active signer, or why it cannot be used."""
        return kept_signer() or await self.lookups.submit(None)


class LicenseKeys:
    """The cached keys that verify licence tokens.

    Keys are cached for some seconds, so a retired one soon stops verifying. Unknown ids are not cached, because such a
    key may be created at any moment.
    """

    def __init__(self, calls: Calls) -> None:
        self.lookups: MicroBatch[str, PyJWK | None] = calls.shared(calls.blocking("licence keys", find_keys_now))
        self.kept: TTLCache[str, PyJWK] = TTLCache(100, KEPT_SECONDS, monotonic)

    async def verify(self, token: str, account_id: str, now: datetime) -> Claims:
        """Return the claims of a valid token. Raises InvalidToken."""
        kid = kid_of(token)
        key = self.kept.get(kid)
        if key is None:
            key = await self.lookups.submit(kid)
            if key is not None:
                self.kept[kid] = key
        return check_claims(claims_of(token, kid, key), account_id, now)
