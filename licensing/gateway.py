"""Access checks on the event loop: the way of a check that is fast (docs/architecture.md).

The same steps as licensing.check_views, by the same functions, on facts that this process has cached: no SQL is read
while they hold, plan limits take one shared round trip, and the record one shared commit. That commit stores only what
was decided on facts that still hold; a decision on others is made again.
"""

import logging
from asyncio import Future, wait
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import TypeVar

from django.conf import settings
from django.db import connection
from django.utils import timezone

from accounts import keytext
from accounts.async_limits import AsyncLimiter
from accounts.authentication import Grant, check_well_formed, find_grant, note_use, uses_to_note
from accounts.limits import LimitState, Take, limiter
from accounts.permissions import require
from accounts.throttling import take_of
from analytics import recorder
from analytics.async_recorder import AsyncRecorder
from analytics.batches import Entry, Outcome, unfit
from config.api.errors import ApiError, as_api_error
from config.api.microbatch import InThread, MicroBatch
from config.api.middleware import Address
from licensing.async_lookup import AsyncLookup, needs_no_thread
from licensing.check_bodies import Check
from licensing.checks import Answer, Preparer, check_access, not_found, settle
from licensing.lookup import Found, Selector, Wanted, current_epoch, find_items, keep_requesters
from licensing.metrics import HIT, MISS, looked_up, observed
from licensing.snapshot import Snapshot

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 2  # on cached facts
MAX_SECONDS_TO_GATHER = 0.005  # far more than a look-up on the event loop takes, and no more than a commit does
COMMITS_IN_FLIGHT = 2  # while one commits the next is sent; more would only make the batches smaller

Unhurried = tuple[str, Sequence[Check], datetime]  # what check_access takes

T = TypeVar("T")
R = TypeVar("R")


class Gateway:
    """The checks of this process. Every method is called on the event loop, but for the `…_now` ones."""

    def __init__(self) -> None:
        self.snapshot = Snapshot()
        self.limits: MicroBatch[Take, LimitState] | None = None
        if settings.REDIS_URL:
            self.limits = MicroBatch(AsyncLimiter(limiter, settings.REDIS_URL).take_many)
        on_postgresql = connection.vendor == "postgresql"
        self.write = AsyncRecorder().record if on_postgresql else InThread("recorder", record_now)
        self.records: MicroBatch[Sequence[Entry], Sequence[Outcome]] = MicroBatch(
            self.record, in_flight=COMMITS_IN_FLIGHT if on_postgresql else 1, gather=self.gather
        )
        self.lookups: MicroBatch[Wanted, Found] = MicroBatch(InThread("lookups", look_up_now))
        self.quick_lookups: MicroBatch[Wanted, Found | None] | None = None  # without a thread
        if on_postgresql:
            self.quick_lookups = MicroBatch(AsyncLookup().find_facts)
        self.last_quick: Future[Found | None] | None = None
        self.keys: MicroBatch[str, Grant | ApiError] = MicroBatch(InThread("keys", find_grants_now))
        self.uses: MicroBatch[Grant, None] = MicroBatch(InThread("uses", note_uses_now))
        self.unhurried: MicroBatch[Unhurried, list[Answer | ApiError] | ApiError] = MicroBatch(
            InThread("unhurried", check_now), max_items=20, max_waiting=1_000
        )

    # --- Who asks ----------------------------------------------------------------------------------------------------

    async def authenticate(self, text: str, now: datetime) -> Grant:
        """The key's grant, cached or not. Raises InvalidApiKey; a malformed key costs no query."""
        grant = self.snapshot.grant(keytext.digest(text))
        if grant is None:
            looked_up[MISS] += 1
            return await self.confirm(text, now)
        looked_up[HIT] += 1
        grant.check(now)
        return grant

    async def confirm(self, text: str, now: datetime) -> Grant:
        """The key's grant as it is now: for a reply that no record confirms (see `check`). Raises InvalidApiKey."""
        check_well_formed(text)
        found = await self.keys.submit(text)
        if isinstance(found, ApiError):
            raise found
        self.snapshot.put_grant(keytext.digest(text), found)
        found.check(now)
        return found

    async def take(self, grant: Grant | None, address: Address | None, cost: int = 1) -> LimitState:
        take = take_of(grant, address, cost)
        # Without Redis counting is a matter of microseconds, and no reason to change threads.
        return limiter.take(take) if self.limits is None else await self.limits.submit(take)

    # --- What is asked -----------------------------------------------------------------------------------------------

    async def check(self, text: str, grant: Grant, checks: Sequence[Check], now: datetime) -> list[Answer | ApiError]:
        """The answer to each check, NotFound in the place of one whose item does not exist; all are on disk."""
        if uses_to_note(grant, now):
            self.uses.submit(grant).add_done_callback(log_failure)
        if not any(check.dry_run for check in checks):
            for _ in range(MAX_ATTEMPTS):
                found = await self.look_up(grant.account_id, checks)
                answers, places, entries = self.decide(grant, checks, found, now)
                if not entries:
                    break
                outcomes = await self.records.submit(entries)
                if not any(outcome.stale for outcome in outcomes):
                    for place, outcome in zip(places, outcomes, strict=True):
                        answers[place] = settle(answers[place], outcome)  # type: ignore[arg-type]
                    return answers
                if not all(outcome.postponed for outcome in outcomes if outcome.stale):
                    self.snapshot.advance(grant.account_id, found.epoch + 1)
                require(await self.authenticate(text, now), "access:check")  # the key may be what has changed
        # Dry runs and unknown items leave no record that would confirm the key. And an account that changes faster
        # than its checks are decided makes them wait for each other.
        require(await self.confirm(text, now), "access:check")
        unhurried = await self.unhurried.submit((grant.account_id, checks, now))
        if isinstance(unhurried, ApiError):
            raise unhurried
        return unhurried

    def decide(
        self, grant: Grant, checks: Sequence[Check], found: Found, now: datetime
    ) -> tuple[list[Answer | ApiError], list[int], list[Entry]]:
        preparer = Preparer(now, grant.account_key, found.epoch)
        answers: list[Answer | ApiError] = []
        places: list[int] = []
        entries: list[Entry] = []
        for check in checks:
            item = found.items.get(check.selector)
            if item is None:
                answers.append(not_found(check))
                continue
            requester = found.requesters[check.requester_id]
            answer, entry = preparer.prepare(check, item, requester)
            places.append(len(answers))
            entries.append(entry)
            answers.append(answer)
        return answers, places, entries

    async def gather(self) -> None:
        """Lets the checks whose facts are being looked up join the next commit, which costs as much as several checks.

        Otherwise a few misses would tear apart the groups in which requests come, and make many small commits of them.
        """
        if self.last_quick is not None and not self.last_quick.done():
            await wait([self.last_quick], timeout=MAX_SECONDS_TO_GATHER)

    @observed
    async def record(self, many: Sequence[Sequence[Entry]]) -> list[Sequence[Outcome]]:
        """One commit for the records of many requests, each stored as a whole or not at all."""
        refusals = unfit(many)
        fitting = [entry for entries, refusal in zip(many, refusals, strict=True) if not refusal for entry in entries]
        outcomes = iter(await self.write(fitting))
        return [[refusal or next(outcomes) for _ in entries] for entries, refusal in zip(many, refusals, strict=True)]

    async def look_up(self, account_id: str, checks: Sequence[Check]) -> Found:
        """From the snapshot, and what is missing by a look-up; all of one epoch."""
        snapshot = self.snapshot
        cached = Found(snapshot.epochs.get(account_id, -1), {}, {})
        missing = Wanted(account_id, set(), {})
        for check in checks:
            item = snapshot.get(account_id, check.selector)
            if item is None:
                missing.selectors.add(check.selector)
            else:
                cached.items[check.selector] = item
            requester, name = cached.requesters.get(check.requester_id), check.requester_name
            if requester is None:
                requester = snapshot.get(account_id, check.requester_id)
            if requester is None or (name is not None and name != requester.name):
                missing.requesters[check.requester_id] = name or missing.requesters.get(check.requester_id)
            else:
                cached.requesters[check.requester_id] = requester
        looked_up[HIT] += len(cached.items) + len(cached.requesters)
        if not missing.selectors and not missing.requesters:
            return cached
        looked_up[MISS] += len(missing.selectors) + len(missing.requesters)
        found = await self.read(missing)
        if found.epoch == cached.epoch:
            return Found(found.epoch, found.items | cached.items, found.requesters | cached.requesters)
        if not cached.items and not cached.requesters:
            return found
        everything = Wanted(account_id, {check.selector for check in checks}, {})
        for check in checks:
            everything.requesters.setdefault(check.requester_id, check.requester_name)
        return await self.read(everything)

    async def read(self, wanted: Wanted) -> Found:
        """Reads from the database, and keeps it."""
        found = None
        if self.quick_lookups is not None and needs_no_thread(wanted):
            self.last_quick = self.quick_lookups.submit(wanted)
            found = await self.last_quick
        if found is None:
            found = await self.lookups.submit(wanted)
        for selector in wanted.selectors & found.items.keys():
            self.snapshot.put(wanted.account_id, found.epoch, selector, found.items[selector])
        for requester_id in wanted.requesters:
            self.snapshot.put(wanted.account_id, found.epoch, requester_id, found.requesters[requester_id])
        return found


def log_failure(future: Future[None]) -> None:
    """A use that could not be noted fails no request: the next one after a minute tries again."""
    if not future.cancelled() and (error := future.exception()) is not None:
        logger.warning("The last use of a key could not be written: %s", error)


# --- In threads ----------------------------------------------------------------------------------------------------


def on_own_connection(call: Callable[[Sequence[T]], list[R]]) -> Callable[[Sequence[T]], list[R]]:
    """Keeps the thread's database connection from call to call; leaves one that broke."""

    @wraps(call)
    def wrapped(items: Sequence[T]) -> list[R]:
        if connection.vendor == "postgresql" and not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # to the pool, which tries what it hands out
        try:
            return call(items)
        except Exception:
            connection.close_if_unusable_or_obsolete()
            raise

    return wrapped


@on_own_connection
def look_up_now(many: Sequence[Wanted]) -> list[Found]:
    """One look-up for each account, shared by its requests."""
    together: dict[str, tuple[set[Selector], dict[str, str | None]]] = {}
    for wanted in many:
        selectors, requesters = together.setdefault(wanted.account_id, (set(), {}))
        selectors |= wanted.selectors
        for requester_id, name in wanted.requesters.items():
            requesters[requester_id] = name if name is not None else requesters.get(requester_id)
    found = {account_id: look_up_account(account_id, *wanted) for account_id, wanted in together.items()}
    return [found[wanted.account_id] for wanted in many]


def look_up_account(account_id: str, selectors: Iterable[Selector], requesters: dict[str, str | None]) -> Found:
    epoch = current_epoch(account_id)  # first: what is read after it is at least as new
    items = find_items(account_id, selectors)
    return Found(epoch, items, keep_requesters(account_id, requesters) if requesters else {})


@on_own_connection
def find_grants_now(texts: Sequence[str]) -> list[Grant | ApiError]:
    grants: list[Grant | ApiError] = []
    for text in texts:
        try:
            grants.append(find_grant(text))
        except ApiError as error:
            grants.append(error)
    return grants


@on_own_connection
def note_uses_now(grants: Sequence[Grant]) -> list[None]:
    for grant in {grant.key_id: grant for grant in grants}.values():
        note_use(grant, timezone.now())
    return [None] * len(grants)


@on_own_connection
def record_now(entries: Sequence[Entry]) -> list[Outcome]:
    """One commit for all."""
    return recorder.commit(entries)


@on_own_connection
def check_now(many: Sequence[Unhurried]) -> list[list[Answer | ApiError] | ApiError]:
    return [check_one(*one) for one in many]


def check_one(account_id: str, checks: Sequence[Check], now: datetime) -> list[Answer | ApiError] | ApiError:
    """Or why none of them was decided: a failure is nobody else's."""
    try:
        return check_access(account_id, checks, now)
    except ApiError as error:
        return error
    except Exception as exc:
        connection.close_if_unusable_or_obsolete()
        return as_api_error(exc)
