"""The facts of checks as this process has cached them, and the look-ups of those that are missing.

It also keeps numbers for new requesters, and keys of JWS tokens.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import attrgetter
from time import monotonic

from cachetools import TTLCache
from jwt import PyJWK

from accounts.plans.epochs import GONE, Changes
from kit.http.errors import ApiError
from kit.storage.microbatch import MicroBatch, MicroBatches
from licensing.access.check_values import Check
from licensing.access.event_loop.blocking_calls import (
    Named,
    Since,
    changes_now,
    find_keys_now,
    find_signer_now,
    keep_requesters_now,
    look_up_now,
    reserve_now,
)
from licensing.access.event_loop.calls import Calls, in_thread
from licensing.access.event_loop.lookup import AsyncChanges, AsyncLookup, AsyncNumbers, needs_no_thread
from licensing.access.event_loop.metrics import HIT, MISS, looked_up
from licensing.access.event_loop.snapshot import Snapshot
from licensing.access.lookup.requesters import assign_numbers, count_unnumbered, requesters_to_write
from licensing.access.subjects import Item, LookupRequest, LookupResult, RequesterSnapshot, Selector
from licensing.access.tokens.license_tokens import Claims, check_claims, claims_of, kid_of
from licensing.access.tokens.signing import KEPT_SECONDS, Signer, kept_signer

EXTRA_NUMBERS = 100  # extra numbers per reservation; unused ones are lost when the process ends

Reserve = Callable[[Sequence[int]], Awaitable[Sequence[int]]]  # reserves as many numbers as the counts add up to


class Numbers:
    """A pool of requester numbers, so that only one new requester in a hundred costs a statement."""

    def __init__(self, reserve: Reserve, calls: Calls) -> None:
        self.reserve = reserve
        self.extra = [] if calls.in_request else [EXTRA_NUMBERS]
        self.free: deque[int] = deque()
        self.orders: MicroBatch[int, None] = MicroBatch(self.fill)

    async def take(self, count: int) -> list[int]:
        while len(self.free) < count:
            await self.orders.submit(count)
        return [self.free.popleft() for _ in range(count)]

    async def fill(self, counts: Sequence[int]) -> list[None]:
        self.free += await self.reserve([*counts, *self.extra])
        return [None] * len(counts)


class Signers:
    """The cached key that signs decisions."""

    def __init__(self) -> None:
        self.lookups: MicroBatch[None, Signer | ApiError] = MicroBatch(in_thread("signers", find_signer_now))

    async def current(self) -> Signer | ApiError:
        """Return the active signer, or why it cannot be used."""
        return kept_signer() or await self.lookups.submit(None)


class LicenseKeys:
    """The cached keys that verify licence tokens.

    Keys are cached for some seconds, so a retired one soon stops verifying. Unknown ids are not cached, because such a
    key may be created at any moment.
    """

    def __init__(self) -> None:
        self.lookups: MicroBatch[str, PyJWK | None] = MicroBatch(in_thread("licence keys", find_keys_now))
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


LOOKUP_THREADS = 3  # of which an account uses one: looking up many pages of a large site takes long
MAX_LOOKUPS = 50  # of an account in a call, after which those of another account follow


class CachedFacts:
    """Facts from the snapshot, else from the database in shared calls. Every method is called on the event loop."""

    def __init__(self, snapshot: Snapshot, calls: Calls, gather: Callable[[], Awaitable[None]] | None = None) -> None:
        self.snapshot = snapshot
        self.lookups: MicroBatches[LookupRequest, LookupResult] = MicroBatches(
            in_thread("lookups", look_up_now, LOOKUP_THREADS),
            attrgetter("account_id"),
            partial(MicroBatch, max_items=MAX_LOOKUPS, gather=gather),
        )
        self.quick_lookups: MicroBatch[LookupRequest, LookupResult | None] | None = None  # without a thread
        if calls.on_loop:
            self.quick_lookups = MicroBatch(AsyncLookup().find_facts)
        self.changes: MicroBatch[Since, Changes | None] = MicroBatch(
            AsyncChanges().since if calls.on_loop else in_thread("changes", changes_now)
        )
        self.requesters: MicroBatch[Named, dict[str, RequesterSnapshot]] = MicroBatch(
            in_thread("requesters", keep_requesters_now)
        )
        self.numbers = Numbers(AsyncNumbers().reserve if calls.on_loop else in_thread("numbers", reserve_now), calls)

    async def look_up(self, account_id: str, checks: Sequence[Check], in_record: bool = True) -> LookupResult:
        """Read from the snapshot; look up what is missing, possibly at a newer epoch.

        Facts may be newer than the epoch: if they changed since, the decision is not recorded.
        `in_record` says whether the record will write new requesters and first names; otherwise a thread writes them.
        """
        epochs = self.snapshot.accounts.get(account_id)
        if epochs is not None and epochs.newest > epochs.epoch:
            self.snapshot.advance(account_id, await self.changes.submit((account_id, epochs.epoch)))
        cached, missing = self.find_cached(account_id, checks)
        looked_up[HIT] += len(cached.items) + len(cached.requesters)
        if missing is None:
            return cached
        looked_up[MISS] += len(missing.selectors) + len(missing.requesters)
        result = await self.read(missing)
        if cached.items or cached.requesters:
            epoch = min(cached.epoch, result.epoch)
            result = LookupResult(epoch, cached.items | result.items, cached.requesters | result.requesters)
        return await self.with_newcomers(account_id, checks, result, in_record)

    def find_cached(self, account_id: str, checks: Sequence[Check]) -> tuple[LookupResult, LookupRequest | None]:
        """Return what the snapshot has for the checks, and what it lacks; None if that is nothing."""
        get = self.snapshot.get
        items: dict[Selector, Item] = {}
        requesters: dict[str, RequesterSnapshot] = {}
        missing: LookupRequest | None = None
        for check in checks:
            selector = check.selector
            item = get(account_id, selector)
            if item is None:
                missing = missing or LookupRequest(account_id, set(), set())
                missing.selectors.add(selector)
            else:
                items[selector] = item
            if check.requester_name is check.edge is None and check.requester_id in requesters:
                continue  # of a batch by one requester
            # Most checks have one requester. Naming it here saves a call.
            only = ((check.requester_id, check.requester_name),)
            for requester_id, name in only if check.edge is None else check.requesters:
                requester = requesters.get(requester_id) or get(account_id, requester_id)
                if requester is None or (requester.name is None and requester.is_named_by(name)):
                    missing = missing or LookupRequest(account_id, set(), set())
                    missing.requesters.add(requester_id)
                else:
                    requesters[requester_id] = requester
        epochs = self.snapshot.accounts.get(account_id)
        return LookupResult(-1 if epochs is None else epochs.epoch, items, requesters), missing

    async def with_newcomers(
        self, account_id: str, checks: Sequence[Check], result: LookupResult, in_record: bool
    ) -> LookupResult:
        """Add new requesters and first names: as the record will write them, or as a thread has."""
        newcomers = requesters_to_write(checks, result)
        if not newcomers or result.epoch == GONE:
            return result
        if in_record:
            return assign_numbers(result, newcomers, await self.numbers.take(count_unnumbered(newcomers)))
        names = {requester_id: requester.name for requester_id, requester in newcomers.items()}
        stored = await self.requesters.submit((account_id, names))
        self.remember(account_id, result.epoch, stored)
        return LookupResult(result.epoch, result.items, result.requesters | stored)

    def remember(self, account_id: str, epoch: int, written: Mapping[str, RequesterSnapshot]) -> None:
        for requester_id, requester in written.items():
            self.snapshot.put(account_id, epoch, requester_id, replace(requester, is_written=True))

    async def read(self, request: LookupRequest) -> LookupResult:
        """Read from the database into the snapshot."""
        result = None
        if self.quick_lookups is not None and needs_no_thread(request):
            result = await self.quick_lookups.result_of(request)
        if result is None:
            result = await self.lookups.result_of(request)
        for selector in request.selectors & result.items.keys():
            item = result.items[selector]
            if not item.others:  # of an ambiguous URL no visitor asks twice
                self.snapshot.put(request.account_id, result.epoch, selector, item)
        for requester_id in request.requesters:
            if (requester := result.requesters[requester_id]).pk is not None:
                self.snapshot.put(request.account_id, result.epoch, requester_id, requester)
        return result
