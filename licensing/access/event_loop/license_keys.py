"""The keys that licence tokens verify with, for the event loop, and the tokens themselves."""

from datetime import datetime
from time import monotonic

from cachetools import TTLCache
from jwt import PyJWK

from kit.storage.microbatch import InThread, MicroBatch
from licensing.access.event_loop.blocking_calls import find_keys_now
from licensing.access.tokens.license_tokens import Claims, check_claims, claims_of, kid_of
from licensing.access.tokens.signing import KEPT_SECONDS


class LicenseKeys:
    """A key is kept for some seconds, after which one that was retired verifies no more. What is no key is not kept:
    a new one may be there the next moment."""

    def __init__(self) -> None:
        self.lookups: MicroBatch[str, PyJWK | None] = MicroBatch(InThread("licence keys", find_keys_now))
        self.kept: TTLCache[str, PyJWK] = TTLCache(100, KEPT_SECONDS, monotonic)

    async def verify(self, token: str, account_id: str, now: datetime) -> Claims:
        """What a valid token says. Raises InvalidToken."""
        kid = kid_of(token)
        key = self.kept.get(kid)
        if key is None:
            key = await self.lookups.submit(kid)
            if key is not None:
                self.kept[kid] = key
        return check_claims(claims_of(token, kid, key), account_id, now)
