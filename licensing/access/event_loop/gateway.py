"""Access checks on the event loop: the way of a check that is fast (docs/architecture.md).

The same steps as licensing.access.views, by the same functions, on facts that this process has cached: no SQL is read
while they hold, plan limits take one shared round trip, and the record one shared commit. That commit stores only what
was decided on facts that still hold; a decision on others is made again.
"""

import logging
from asyncio import Future, wait
from collections.abc import Callable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import connection

from accounts import keytext
from accounts.authentication import Caller, Grant, check_well_formed, uses_to_note
from accounts.limits.limiter import LimitState, Take, limiter
from accounts.limits.limiter_async import AsyncLimiter
from accounts.limits.throttling import refuse_beyond, take_of
from accounts.permissions import require
from analytics.recording.batch import Entry, Outcome, unfit
from analytics.recording.recorder_async import AsyncRecorder
from kit.http.errors import ApiError
from kit.http.middleware import Address
from kit.storage.microbatch import InThread, MicroBatch, Turns
from licensing.access.bodies import Check
from licensing.access.checks import Answer, Preparer, lasting_requesters, not_found, settle
from licensing.access.event_loop.blocking_calls import (
    Named,
    Unhurried,
    check_now,
    find_grants_now,
    keep_requesters_now,
    look_up_now,
    note_uses_now,
    parse_now,
    record_now,
)
from licensing.access.event_loop.lookup import AsyncLookup, needs_no_thread
from licensing.access.event_loop.metrics import HIT, MISS, looked_up, observed
from licensing.access.event_loop.signers import Signers
from licensing.access.event_loop.snapshot import Snapshot
from licensing.access.lookup import Found, Wanted
from licensing.access.subjects import KnownRequester

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 2  # on cached facts
MAX_SECONDS_TO_GATHER = 0.005  # far more than a look-up on the event loop takes, and no more than a commit does
COMMITS_IN_FLIGHT = 2  # while one commits the next is sent; more would only make the batches smaller


class Sender:
    """Who sent a request, and what admitted it."""

    def __init__(self, text: str, address: Address | None) -> None:
        self.text = text  # of the key
        self.address = address
        self.grant: Grant | None = None
        self.limit_state: LimitState | None = None
        self.is_counted = False  # against the plan's limit
        self.is_confirmed = False  # its key was read from the database since it came


class Gateway:
    """The checks of this process. Every method is called on the event loop."""

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
        self.requesters: MicroBatch[Named, dict[str, KnownRequester]] = MicroBatch(
            InThread("requesters", keep_requesters_now)
        )
        self.keys: MicroBatch[str, Grant | ApiError] = MicroBatch(InThread("keys", find_grants_now))
        self.uses: MicroBatch[Grant, None] = MicroBatch(InThread("uses", note_uses_now))
        self.unhurried: MicroBatch[Unhurried, list[Answer | ApiError] | ApiError] = MicroBatch(
            InThread("unhurried", check_now), max_items=20, max_waiting=1_000
        )
        self.parsing: MicroBatch[Callable[[], list[Check]], list[Check] | ApiError] = MicroBatch(
            InThread("parsing", parse_now), max_items=1, max_waiting=1_000
        )
        self.signers = Signers()
        self.turns_to_parse, self.turns = Turns(max_waiting=20), Turns(max_waiting=1_000)

    # --- Who asks ----------------------------------------------------------------------------------------------------

    def cached_grant(self, text: str) -> Grant | None:
        """The key's grant as of the newest epoch of its account that this process knows of."""
        grant = self.snapshot.grant(keytext.digest(text))
        looked_up[MISS if grant is None else HIT] += 1
        return grant

    async def read_grant(self, sender: Sender) -> Grant:
        """The key's grant as it is now. Raises InvalidApiKey; a malformed key costs no query."""
        check_well_formed(sender.text)
        found = await self.keys.submit(sender.text)
        if isinstance(found, ApiError):
            raise found
        self.snapshot.put_grant(keytext.digest(sender.text), found)
        sender.is_confirmed = True
        return found

    async def admit(self, sender: Sender, grant: Grant, now: datetime) -> None:
        """Lets the request in, or raises what refuses it: key, address, plan limit, permission, in this order.

        A request counts once, however often its key is read again; then it has to fit the limits of the day's plan.
        """
        sender.grant = grant
        grant.check(now)
        grant.check_address(sender.address)
        sender.limit_state = state = await self.take(grant, None, cost=0 if sender.is_counted else 1)
        refuse_beyond(state)
        sender.is_counted = True
        require(grant, "access:check")

    async def admit_again(self, sender: Sender, now: datetime) -> Grant:
        """As `admit`, by the newest grant that is known."""
        grant = self.cached_grant(sender.text) or await self.read_grant(sender)
        await self.admit(sender, grant, now)
        return grant

    async def take(self, grant: Grant | None, address: Address | None, cost: int = 1) -> LimitState:
        take = take_of(grant, address, cost)
        # Without Redis counting is a matter of microseconds, and no reason to change threads.
        return limiter.take(take) if self.limits is None else await self.limits.submit(take)

    # --- What is asked -----------------------------------------------------------------------------------------------

    async def parse(self, account_id: str, parse: Callable[[], list[Check]]) -> list[Check]:
        """Parses in a thread what may take long. Raises ApiError."""
        async with self.turns_to_parse.of(account_id):
            parsed = await self.parsing.submit(parse)
        if isinstance(parsed, ApiError):
            raise parsed
        return parsed

    async def check(self, sender: Sender, checks: Sequence[Check], now: datetime) -> list[Answer | ApiError]:
        """The answer to each check, NotFound in the place of one whose item does not exist; all are on disk.

        The request has been admitted. What admits it and what decides it are of one epoch, which the record confirms:
        a key that has ended, or may no longer do this, gets no decision, however long its body took to arrive.
        """
        grant = admitted(sender)
        grant.check(now)  # it may have expired since its head came
        if not any(check.dry_run for check in checks):
            for _ in range(MAX_ATTEMPTS):
                found = await self.look_up(grant.account_id, checks)
                if found.epoch != grant.epoch:
                    grant = await self.admit_again(sender, now)
                    if found.epoch != grant.epoch:
                        continue
                answers, places, entries = self.decide(grant, checks, found, now)
                if not entries:
                    break
                self.note_use(grant, now)
                outcomes = await self.records.submit(entries)
                if not any(outcome.stale for outcome in outcomes):
                    for place, outcome in zip(places, outcomes, strict=True):
                        answers[place] = settle(answers[place], outcome)  # type: ignore[arg-type]
                    return answers
                if not all(outcome.postponed for outcome in outcomes if outcome.stale):
                    self.snapshot.advance(grant.account_id, found.epoch + 1)
        # Dry runs and unknown items leave no record that would confirm the key. And an account that changes faster
        # than its checks are decided makes them wait for each other.
        grant = await self.read_grant(sender)
        await self.admit(sender, grant, now)
        async with self.turns.of(grant.account_id):
            self.note_use(grant, now)
            caller = Caller(grant, sender.address, "access:check")
            unhurried = await self.unhurried.submit((caller, checks, now))
        if isinstance(unhurried, ApiError):
            raise unhurried
        return unhurried

    def note_use(self, grant: Grant, now: datetime) -> None:
        if uses_to_note(grant, now):
            self.uses.submit(grant).add_done_callback(log_failure)

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
        missing = Wanted(account_id, set(), set())
        for check in checks:
            item = snapshot.get(account_id, check.selector)
            if item is None:
                missing.selectors.add(check.selector)
            else:
                cached.items[check.selector] = item
            requester = cached.requesters.get(check.requester_id) or snapshot.get(account_id, check.requester_id)
            if requester is None or requester.is_renamed_by(check.requester_name):
                missing.requesters.add(check.requester_id)
            else:
                cached.requesters[check.requester_id] = requester
        looked_up[HIT] += len(cached.items) + len(cached.requesters)
        if not missing.selectors and not missing.requesters:
            return cached
        looked_up[MISS] += len(missing.selectors) + len(missing.requesters)
        found = await self.read(missing)
        if found.epoch == cached.epoch:
            found = Found(found.epoch, cached.items | found.items, cached.requesters | found.requesters)
        elif cached.items or cached.requesters:
            every = {check.selector for check in checks}, {check.requester_id for check in checks}
            found = await self.read(Wanted(account_id, *every))
        return await self.keep(account_id, checks, found)

    async def keep(self, account_id: str, checks: Sequence[Check], found: Found) -> Found:
        """Writes the requesters that are new or have a new name."""
        new = {
            requester_id: name
            for requester_id, name in lasting_requesters(checks, found.items).items()
            if (known := found.requesters[requester_id]).pk is None or known.is_renamed_by(name)
        }
        if not new:
            return found
        kept = await self.requesters.submit((account_id, new))
        for requester_id, requester in kept.items():
            self.snapshot.put(account_id, found.epoch, requester_id, requester)
        return Found(found.epoch, found.items, found.requesters | kept)

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
            if (requester := found.requesters[requester_id]).pk is not None:
                self.snapshot.put(wanted.account_id, found.epoch, requester_id, requester)
        return found


def admitted(sender: Sender) -> Grant:
    if sender.grant is None:
        raise AssertionError("the request was not admitted")
    return sender.grant


def log_failure(future: Future[None]) -> None:
    """A use that could not be noted fails no request: the next one after a minute tries again."""
    if not future.cancelled() and (error := future.exception()) is not None:
        logger.warning("The last use of a key could not be written: %s", error)
