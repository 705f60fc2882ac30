"""Callers of checks on the event loop: their keys and plan limits, and the steps of a request's admission."""

import logging
from asyncio import Future, sleep
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from accounts.keys import keytext
from accounts.keys.authentication import Grant, GrantSteps, bearer_token, check_well_formed, uses_to_note
from accounts.limits.limiter import limiter
from accounts.limits.limiter_async import AsyncLimiter
from accounts.limits.throttling import consume_of, refuse_beyond, state_for_stranger
from accounts.limits.windows import Consume, LimitState
from kit.http.admission import admit
from kit.http.errors import ApiError, InvalidApiKey, RateLimitExceeded, ServiceUnavailable
from kit.http.middleware import Address
from kit.storage.microbatch import InThread, MicroBatch, Work
from licensing.access.event_loop.blocking_calls import find_grants_now, note_uses_now
from licensing.access.event_loop.lookup import AsyncKeys
from licensing.access.event_loop.metrics import HIT, MISS, looked_up
from licensing.access.event_loop.snapshot import Snapshot

logger = logging.getLogger(__name__)

R = TypeVar("R")


class KeyChanged(Exception):
    """The key is no longer as it was cached when it refused a request."""


class Callers:
    """The keys and plan limits of this process. Every method is called on the event loop."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.limits: MicroBatch[Consume, LimitState] | None = None
        if settings.REDIS_URL:
            self.limits = MicroBatch(AsyncLimiter(limiter, settings.REDIS_URL).consume_many, gather=read_on)
        on_postgresql = connection.vendor == "postgresql"
        self.keys: MicroBatch[str, Grant | ApiError] = MicroBatch(
            AsyncKeys().find if on_postgresql else InThread("keys", find_grants_now)
        )
        self.uses: MicroBatch[Grant, None] = MicroBatch(InThread("uses", note_uses_now))

    def cached_grant(self, text: str) -> Grant | None:
        """The key's grant as of the newest epoch of its account that this process knows of."""
        grant = self.snapshot.grant(keytext.name_in_cache(text))
        looked_up[MISS if grant is None else HIT] += 1
        return grant

    async def read_grant(self, text: str) -> Grant:
        """The key's grant as it is now. Raises InvalidApiKey; a malformed key costs no query."""
        check_well_formed(text)
        found = await self.keys.submit(text)
        name = keytext.name_in_cache(text)
        if isinstance(found, ApiError):
            self.snapshot.drop_grant(name)
            raise found
        self.snapshot.put_grant(name, found)
        return found

    async def consume(
        self, grant: Grant | None, address: Address | None, cost: int = 1, work: Work | None = None
    ) -> LimitState:
        """`work` is done meanwhile, if there is a meanwhile (kit.storage.microbatch)."""
        wanted = consume_of(grant, address, cost)
        # Without Redis counting is a matter of microseconds, and no reason to change threads.
        return limiter.consume(wanted) if self.limits is None else await self.limits.result_of(wanted, work)

    async def limit_of_address(self, address: Address | None) -> LimitState:
        """The limit for the headers of a reply that was made before the caller's was known."""
        try:
            return await self.consume(None, address, cost=0)
        except ServiceUnavailable:  # too many are waiting, perhaps with this one
            return state_for_stranger(address)

    async def admit_for_django(self, authorization: str, address: Address | None) -> dict[str, Any]:
        """What Django need not do any more to admit a request to an endpoint that asks for a key: to read the grant,
        and to count it. Nothing of a request that is refused before it counts: that is Django's to say."""
        try:
            grant = await self.read_grant(bearer_token(authorization))
            grant.check()
            grant.check_address(address)
            return {"grant": grant, "limit_state": await self.consume(grant, address)}
        except (ApiError, OperationalError, InterfaceError):
            return {}

    def note_use(self, grant: Grant, now: datetime) -> None:
        if uses_to_note(grant, now):
            self.uses.submit(grant).add_done_callback(log_failure)


async def read_on() -> None:
    """Lets the requests that have arrived by now join the call: the loop looks at its sockets once a turn."""
    for _ in range(2):
        await sleep(0)


class Sender(GrantSteps):
    """The sender of a request, and what admitted it. `authorization` is the header.

    A request counts once, however often it is admitted; then it has to fit the limits of the day's plan.
    """

    permission = "access:check"

    def __init__(self, callers: Callers, authorization: str, address: Address | None) -> None:
        self.callers, self.authorization, self.address = callers, authorization, address
        self.limit_state: LimitState | None = None
        self.is_counted = False  # against the plan's limit
        self.is_confirmed = False  # its key was read from the database since it came

    async def serve(self, act: Callable[[], Awaitable[R]]) -> R:
        """Admits the request and returns what `act` does; once more if the key that refused it has changed since."""
        try:
            try:
                await admit(self)
                return await act()
            except ApiError as refusal:
                await self.reconsider(refusal)
                raise
        except KeyChanged:
            await admit(self)
            return await act()

    async def reconsider(self, refusal: ApiError) -> None:
        """Raises KeyChanged if the key is another by now than the cached one by which the request was refused.

        A refusal leaves no record, which would tell that the key has been revoked or may do more by now. Raises what
        keeps the key from being read, but for a refusal by a limit, which stands then.
        """
        before: Grant | None = getattr(self, "grant", None)
        if refusal.status_code >= 500 or self.is_confirmed or before is None:
            return
        try:
            grant = await self.confirm()
        except InvalidApiKey:
            raise KeyChanged from None
        except (ServiceUnavailable, OperationalError, InterfaceError):
            if isinstance(refusal, RateLimitExceeded):
                return
            raise
        if grant.epoch != before.epoch:
            raise KeyChanged

    def prepare(self) -> None:
        """Does of the next steps what can be done while the request is counted."""

    async def confirm(self) -> Grant:
        """The key's grant, read from the database."""
        self.is_confirmed = True  # whatever comes of it
        self.grant = await self.callers.read_grant(bearer_token(self.authorization))
        return self.grant

    # --- Steps -------------------------------------------------------------------------------------------------------

    async def authenticate(self) -> None:
        grant = self.callers.cached_grant(bearer_token(self.authorization))
        self.grant = await self.confirm() if grant is None else grant
        self.grant.check()

    async def count(self) -> None:
        if self.is_counted:
            state = await self.callers.consume(self.grant, None, cost=0)
        else:
            state = await self.callers.consume(self.grant, None, work=self.prepare)
        self.limit_state = state
        refuse_beyond(state)
        self.is_counted = True

    async def count_stranger(self, refusal: ApiError) -> None:
        await self.reconsider(refusal)
        self.limit_state = state = await self.callers.consume(None, self.address)
        refuse_beyond(state)


def log_failure(future: Future[None]) -> None:
    """A use that could not be noted fails no request: the next one after a minute tries again."""
    if not future.cancelled() and (error := future.exception()) is not None:
        logger.warning("The last use of a key could not be written: %s", error)
