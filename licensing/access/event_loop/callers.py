"""Callers of checks on the event loop: API keys, plan limits, and the steps of admission."""

from asyncio import sleep
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError

from accounts.keys.authentication import (
    Grant,
    Grants,
    bearer_token,
    build_grants,
    check_well_formed,
    find_grants,
    name_in_cache,
)
from accounts.keys.callers import GrantSteps, Use, admit, is_use_due, known_grants
from accounts.keys.grant_sql import FIND_BY_DIGEST
from accounts.limits.limiter import known_limit, limiter
from accounts.limits.windows import Hit, LimitState, build_hit
from kit.http.bodies import Scope
from kit.http.errors import ApiError, InvalidApiKey, RateLimitExceeded, ServiceUnavailable
from kit.storage.microbatch import MicroBatch, Work
from kit.storage.postgresql.async_postgres import Sessions
from kit.telemetry.tracing import traced
from kit.values.networks import Address
from licensing.access.event_loop.blocking_calls import find_grants_now, note_uses_now
from licensing.access.event_loop.calls import Calls, in_thread
from licensing.access.event_loop.head import Head, is_served
from licensing.access.event_loop.metrics import HIT, MISS, looked_up
from licensing.access.event_loop.snapshot import Snapshot
from licensing.sites.refused_proxies import RefusedProxy

R = TypeVar("R")


class Outdated(Exception):
    """The key or the facts behind an answer have changed since. Answer the request again."""


class AsyncKeys:
    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("SELECT keys", system="postgresql")
    async def find(self, texts: Sequence[str]) -> list[Grant | InvalidApiKey]:
        return await find_grants(texts, self.read)

    async def read(self, digests: Collection[bytes]) -> Grants:
        rows = await self.sessions.run(FIND_BY_DIGEST, [list(digests)])
        return build_grants([(value or b"").decode() for value in row] for row in rows)


class Callers:
    """The API keys and plan limits of this process. Call every method on the event loop."""

    def __init__(self, snapshot: Snapshot, calls: Calls) -> None:
        self.snapshot = snapshot
        self.limits: MicroBatch[Hit, LimitState] | None = None
        if settings.REDIS_URL and not calls.in_request:
            self.limits = MicroBatch(limiter.for_event_loop(), gather=read_on)
        self.keys: MicroBatch[str, Grant | InvalidApiKey] = MicroBatch(
            AsyncKeys().find if calls.on_loop else in_thread("keys", find_grants_now)
        )
        self.uses: MicroBatch[Use | RefusedProxy, None] = MicroBatch(in_thread("uses", note_uses_now))

    async def read_grant(self, header: str) -> Grant:
        """Read the current grant of an Authorization header's key. Raises MissingApiKey and InvalidApiKey.

        A malformed key costs no query.
        """
        text, name = bearer_token(header), name_in_cache(header)
        if name not in known_grants.by_name:
            check_well_formed(text)
        found = await self.keys.submit(text)
        if isinstance(found, InvalidApiKey):
            known_grants.drop(name)
            raise found
        self.snapshot.note(found.account_id, found.epoch)
        known_grants.put(name, found)
        return found

    def count(self, hit: Hit, work: Work | None = None) -> Awaitable[LimitState]:
        """Count against a limit. `work` runs while the shared call is under way (kit.storage.microbatch).

        Await it at once.
        """
        return count_here(hit) if self.limits is None else self.limits.result_of(hit, work)

    async def limit_of_address(self, address: Address | None) -> LimitState:
        """Return the address's limit, for replies sent before the caller's own limit is known."""
        try:
            return await self.count(build_hit(None, address, cost=0))
        except ServiceUnavailable:  # too many requests are waiting
            return known_limit("", address)

    async def admit_for_django(self, head: Head, scope: Scope) -> Scope:
        """Return the scope with the grant and the limit of a request for Django, read and counted in shared calls.

        A request that is refused gets neither: Django then produces the error.
        """
        if not is_served(head.host):  # never counted
            return scope
        try:
            grant = await self.read_grant(head.header(b"authorization"))
            grant.check()
            grant.check_address(head.address)
            state = await self.count(build_hit(grant, head.address))
        except (ApiError, OperationalError, InterfaceError):
            return scope
        return {**scope, "grant": grant, "limit_state": state}

    def note_use(self, use: Use, now: datetime) -> None:
        if is_use_due(use, now):
            self.uses.submit(use)

    def note_refused_proxy(self, proxy: RefusedProxy, now: datetime) -> None:
        if proxy.is_to_note(now):
            self.uses.submit(proxy)


async def count_here(hit: Hit) -> LimitState:
    """Count at once: in this process, which takes microseconds, or in a thread of Django."""
    return limiter.consume(hit)


async def read_on() -> None:
    """Yield to the event loop so that requests that have already arrived can join the call."""
    for _ in range(2):
        await sleep(0)


class Sender(GrantSteps):
    """The sender of a request and its admission state. `authorization` is the header's value.

    A request counts once, however often it is admitted.
    """

    permission = "access:check"
    # Whether the client still waits; None if its decisions are recorded even if it has left.
    is_awaited: Callable[[], bool] | None = None

    def __init__(self, callers: Callers, authorization: str, address: Address | None) -> None:
        self.callers, self.authorization, self.address = callers, authorization, address
        self.limit_state: LimitState | None = None
        self.is_admitted = False  # by each step, with the newest grant of the key
        self.is_counted = False  # against its limits
        # Whether the database has confirmed the account's epoch for this request, by a read of the key or a record.
        self.is_confirmed = False

    async def serve(self, act: Callable[[], Awaitable[R]]) -> R:
        """Admit the request and return the result of `act`, made on facts that the database has confirmed.

        Every answer and every refusal leaves here. A record confirms the facts of its decision. Without one the key is
        read with its account's epoch, and an answer made at an older epoch is made again.
        """
        while True:
            with suppress(Outdated):
                try:
                    self.is_admitted = False
                    await admit(self)
                    self.is_admitted = True
                    grant = self.grant
                    answer = await act()
                except ApiError as refusal:
                    await self.reconsider(refusal)
                    raise
                if not self.is_confirmed:
                    await self.check_epoch(grant)
                return answer

    async def reconsider(self, refusal: ApiError) -> None:
        """Confirm the facts of a refusal. Raises Outdated if they have changed.

        Raises the error that prevents reading the key, except after a refusal by a rate limit.
        """
        grant: Grant | None = getattr(self, "grant", None)
        if refusal.status_code >= 500 or self.is_confirmed or grant is None:
            return
        try:
            await self.check_epoch(grant)
        except (ServiceUnavailable, OperationalError, InterfaceError):
            if not isinstance(refusal, RateLimitExceeded):
                raise

    async def check_epoch(self, grant: Grant) -> None:
        """Read the key again. Raises Outdated if the account's epoch is not that of the grant.

        Facts are looked up after the grant, so they are at least as new.
        """
        try:
            current = await self.confirm()
        except InvalidApiKey:
            raise Outdated from None
        if current.epoch != grant.epoch:
            raise Outdated

    async def readmit(self) -> None:
        """Admit the request again by its key's current grant.

        Raises Outdated if the key is for other hosts now: `act` may have chosen its checks by them.
        """
        hosts = self.grant.hosts
        self.is_admitted = False
        await admit(self)
        self.is_admitted = True
        if self.grant.hosts != hosts:
            raise Outdated

    def prepare(self) -> None:
        """Do work for the next steps while the request is being counted. Does nothing by default."""

    async def confirm(self) -> Grant:
        """Read the key's grant from the database."""
        self.is_confirmed = True  # even if reading fails
        self.grant = await self.callers.read_grant(self.authorization)
        return self.grant

    # --- Steps -------------------------------------------------------------------------------------------------------

    async def authenticate(self) -> None:
        grant = self.callers.snapshot.grant(name_in_cache(self.authorization))
        looked_up[MISS if grant is None else HIT] += 1
        self.grant = await self.confirm() if grant is None else grant
        self.grant.check()

    async def count(self) -> None:
        if self.is_counted:
            state = await self.callers.count(build_hit(self.grant, self.address, cost=0))
        else:
            state = await self.callers.count(build_hit(self.grant, self.address), self.prepare)
        self.limit_state = state
        state.check()
        self.is_counted = True

    def note_refusal(self, refusal: ApiError, now: datetime) -> None:
        """Note at the key why it was refused. Unknown keys are noted at sites (RefusedProxy)."""
        grant: Grant | None = getattr(self, "grant", None)
        if grant is not None and refusal.status_code in (400, 401, 403):
            self.callers.note_use(Use(grant, refusal.message), now)

    async def count_stranger(self, refusal: ApiError) -> None:
        await self.reconsider(refusal)
        self.limit_state = state = await self.callers.count(build_hit(None, self.address))
        state.check()
