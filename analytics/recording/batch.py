"""A batch of decisions to record together, and the outcome of each. On PostgreSQL the event loop records it itself."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import orjson
from django.utils import timezone
from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder
from msgspec.structs import astuple, replace

from analytics.recording.entries import Case, Claim, Entry, KeyClaim, Reply
from analytics.recording.naming import Naming
from analytics.recording.outcomes import (
    LATE,
    RECORDED_WITHIN,
    RETRY,
    STALE,
    STORED,
    STORED_BEHIND,
    TAKEN,
    UNAWAITED,
    UNPAID,
    Outcome,
)
from analytics.recording.spending_sql import PurseClaim, Spending, SpendOfCase, columns_of_purses, columns_of_spends
from analytics.recording.statement import postgresql
from kit.storage.postgresql.async_postgres import Parameter, Sessions
from kit.telemetry.tracing import traced
from kit.values.timestamps import render_timestamp

MANY_ALIKE = 8  # decisions per case from which one pending row per case pays off


class ChargeOfCase(Struct, gc=False):
    case: int
    amount: int
    currency: str
    license: str | None
    license_type: str


encode = JsonEncoder().encode


def encode_parts(part: Collection[Struct]) -> str:
    return encode(list(part)).decode()


def parse_result(text: str | bytes | None = None) -> list[Any]:
    """Parse a JSON array of the statement's result; null means empty."""
    return orjson.loads(text) if text else []


class LimitCounter(Struct, gc=False):
    """All claims of a batch on one rule's limit for one requester; `naming` refers to requesters recorded with it."""

    number: int
    account: str
    requester: int
    policy: str
    rule: str
    window_start: int
    allowance: int
    claimed: int = 0
    naming: int | None = None


def find_conflicts(requests: Sequence[Sequence[Entry]]) -> list[Outcome | None]:
    """Return an outcome for each request that cannot join the batch, None for the others.

    A request is stored completely or not at all; otherwise a retry would decide and charge the stored part again. Its
    decisions have the same account, epoch and time. If an account appears with several epochs, only the newest can be
    stored; the others must not delay it. Claims of a request whose requesters may turn out to belong to another are
    counted separately.
    """
    epochs: dict[str, int] = {}
    for entries in requests:
        if entries:
            case = entries[0].case
            epochs[case.account] = max(case.epoch, epochs.get(case.account, -1))
    windows: dict[tuple[int, str, str], tuple[int, Naming | None]] = {}
    outcomes: list[Outcome | None] = []
    for entries in requests:
        refusal = None
        claimed_windows = {
            (entry.claim.requester, entry.claim.policy, entry.claim.rule): (entry.claim.window_start, entry.naming)
            for entry in entries
            if entry.claim is not None
        }
        if entries and entries[0].case.epoch < epochs[entries[0].case.account]:
            refusal = STALE
        elif any(windows.get(key, window) != window for key, window in claimed_windows.items()):
            refusal = RETRY
        else:
            windows |= claimed_windows
        outcomes.append(refusal)
    return outcomes


class Batch:
    """Decisions to record in one statement. Claims on the same counter are numbered in order.

    An entry for another window of a counter is left out and decided again in a later batch. Entries are never
    modified: copies carry their numbers in the batch.
    """

    def __init__(self, entries: Sequence[Entry], within: timedelta | None = None) -> None:
        self.entries = entries
        self.earliest = "" if within is None else render_timestamp(timezone.now() - within) or ""
        self.cases: list[Case] = []
        self.ids: list[str] = []  # decision ids of all cases
        self.contents: list[str] = []
        self.charges: list[ChargeOfCase] = []
        self.counters: dict[tuple[int, str, str], LimitCounter] = {}
        self.replies: list[Reply] = []
        self.key_claims: list[KeyClaim] = []  # of the replies, in the same order
        self.namings: dict[Naming, Naming] = {}  # in order of their numbers
        self.purses: dict[str, PurseClaim] = {}  # by wallet, in order of their numbers
        self.spends: list[SpendOfCase] = []
        # Each entry's case, or its outcome if it is left out.
        self.cases_or_outcomes = [self.add(entry) for entry in entries]

    def add(self, entry: Entry) -> Case | Outcome:
        """Return the entry's numbered case, or its outcome if this batch leaves it out."""
        if entry.is_awaited is not None and not entry.is_awaited():
            return UNAWAITED
        if entry.case.created < self.earliest:
            return LATE
        if entry.spending is not None and entry.naming is not None:
            return RETRY  # its requesters are named first: a request that is left out later would free credit
        naming = None if entry.naming is None else self.naming(entry.naming)
        numbers: dict[str, int | None] = {}
        if entry.claim is not None:
            limit = self.counter(entry.claim, naming)
            if limit.window_start != entry.claim.window_start:
                return RETRY
            numbers = {"counter": limit.number, "claimed": limit.claimed}
            limit.claimed += len(entry.ids)
        elif entry.reply is not None:
            numbers = {"reply": self.reply(entry.reply, naming)}
        elif entry.spending is not None:
            purse, spent = self.spend(entry, entry.spending)
            numbers = {"purse": purse.number, "taken": spent}
        first = len(self.ids) + 1
        self.ids += entry.ids
        self.contents += entry.contents
        number = len(self.cases)
        last = len(self.ids)
        case = replace(entry.case, number=number, first=first, last=last, naming=naming, **numbers)
        self.cases.append(case)
        if entry.charge is not None:
            self.charges.append(ChargeOfCase(case.number, *astuple(entry.charge)))
        return case

    def spend(self, entry: Entry, spending: Spending) -> tuple[PurseClaim, int | None]:
        """Number the spends of the entry that is added next. Returns its purse, and what is then taken from it."""
        purse = self.join_pool(spending.wallets)
        total = None
        for id_, spend in entry.spends:
            purse = self.purse(spend.wallet)
            total = purse.total = purse.total + spend.amount
            self.spends.append(SpendOfCase(id_, len(self.cases), purse.number, spend.amount))
        return purse, total

    def join_pool(self, wallets: Sequence[str]) -> PurseClaim:
        """Join the wallets of a request into one pool, and return the first."""
        purses = [self.purse(wallet) for wallet in wallets]
        pool = purses[0].pool
        for other in purses[1:]:
            if other.pool != pool:
                pool_members = [purse for purse in self.purses.values() if purse.pool == other.pool]
                for purse in pool_members:
                    purse.pool = pool
        return purses[0]

    def purse(self, wallet: str) -> PurseClaim:
        purse = self.purses.get(wallet)
        if purse is None:
            number = len(self.purses)
            purse = self.purses[wallet] = PurseClaim(number, wallet, pool=number)
        return purse

    def reply(self, reply: Reply, naming: int | None) -> int:
        """Return the number of the reply, which all entries of its request share."""
        if not self.replies or self.replies[-1] is not reply:
            self.replies.append(reply)
            self.key_claims.append(reply.claim if naming is None else replace(reply.claim, naming=naming))
        return len(self.replies)

    def naming(self, naming: Naming) -> int:
        numbered = self.namings.get(naming)
        if numbered is None:
            numbered = self.namings[naming] = replace(naming, number=len(self.namings))
        return numbered.number

    def counter(self, claim: Claim, naming: int | None) -> LimitCounter:
        key = (claim.requester, claim.policy, claim.rule)
        counter = self.counters.get(key)
        if counter is None:
            counter = self.counters[key] = LimitCounter(len(self.counters), *astuple(claim))
            counter.naming = naming
        return counter

    def statement(self) -> tuple[str, list[Parameter]]:
        """Return the PostgreSQL statement and its parameters: JSON, lists of UUIDs in hex, and encrypted replies."""
        charges = [encode_parts(self.charges)] if self.charges else []
        parts = [encode_parts(part) for part in (self.counters.values(), self.namings.values()) if part]
        replies: list[Parameter] = []
        if self.replies:
            replies = [[reply.sealed for reply in self.replies], encode_parts(self.key_claims)]
        purses = columns_of_purses(self.purses.values()) if self.purses else []
        spends = columns_of_spends(self.spends) if self.purses else []
        alike = not self.counters and not self.purses and len(self.ids) >= MANY_ALIKE * len(self.cases)
        statement = postgresql(
            charging=bool(self.charges),
            counting=bool(self.counters),
            naming=bool(self.namings),
            keeping=bool(self.replies),
            spending=bool(self.purses),
            alike=alike,
        )
        # Sorted by id, many rows are appended to their index, which then has fuller pages.
        cases = sorted(self.cases, key=lambda case: self.ids[case.first - 1]) if alike else self.cases
        return statement, [*charges, self.ids, self.contents, encode_parts(cases), *purses, *parts, *replies, *spends]

    def outcomes(
        self,
        stale: Collection[str],
        rooms: Mapping[int, int],
        behind: Collection[str],
        claimed: Collection[int] = (),
        unnamed: Collection[int] = (),
        credit: Mapping[int, int] = MappingProxyType({}),
    ) -> list[Outcome]:
        """Return the outcome of each entry.

        `stale` and `behind` are account ids, `rooms` each counter's room, `claimed` the numbers of replies whose keys
        were free, `unnamed` those of namings that were not written. `credit` has what each wallet that pays could
        spend before the batch, by its number.
        """
        outcomes = []
        for case in self.cases_or_outcomes:
            if isinstance(case, Outcome):
                outcomes.append(case)
            elif case.account in stale:
                outcomes.append(STALE)
            elif case.naming is not None and case.naming in unnamed:
                outcomes.append(RETRY)
            elif case.purse is not None and case.purse not in credit:
                outcomes.append(UNPAID)
            elif case.reply is not None and case.reply not in claimed:
                outcomes.append(TAKEN)
            elif case.purse is not None and case.taken is not None:
                outcomes.append(Outcome(available=credit[case.purse] - case.taken, behind=case.account in behind))
            elif case.counter is None:
                outcomes.append(STORED_BEHIND if case.account in behind else STORED)
            else:
                left = rooms[case.counter] - case.claimed
                outcomes.append(Outcome(remaining_before=left, behind=case.account in behind))
        return outcomes

    def read_row(self, row: Sequence[Any]) -> list[Outcome]:
        """Return the outcomes from PostgreSQL's result row, whose values are JSON and a number, as text or bytes."""
        stale, rooms, _, claimed, behind, unnamed, *spending = row
        outcomes = self.outcomes(
            parse_result(stale),
            dict(parse_result(rooms)),
            parse_result(behind),
            parse_result(claimed),
            parse_result(unnamed),
            dict(parse_result(*spending)),
        )
        stored = 0
        for entry, outcome in zip(self.entries, outcomes, strict=True):
            if outcome.unstored is None:
                stored += len(entry.ids)
        if int(row[2]) != stored:
            raise RuntimeError(f"{row[2]} decisions were stored where the outcomes are {outcomes}")
        return outcomes


class AsyncRecorder:
    """Records on the event loop, on PostgreSQL: the same statement, without threads."""

    def __init__(self) -> None:
        self.sessions = Sessions()

    @traced("INSERT decisions", system="postgresql")
    async def record(self, entries: Sequence[Entry]) -> list[Outcome]:
        """Write the decisions in one transaction.

        Raises Django's OperationalError; then no decision may be returned.
        """
        async with self.sessions.lease() as session:
            batch = Batch(entries, RECORDED_WITHIN)  # not before, because connecting may take longer
            [row] = await session.run(*batch.statement())
        return batch.read_row(row)
