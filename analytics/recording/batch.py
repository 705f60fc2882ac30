"""Decisions on their way to be recorded together: what is written of each, and what became of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder
from msgspec.structs import astuple

from analytics.recording.statement import postgresql


class Claim(Struct, frozen=True, gc=False):
    """A use of a rule's limit: of `allowance` in the window that began at `window_start` (Unix seconds)."""

    account: str
    requester: int
    policy: str  # UUID in hex
    rule: str  # the rule's fingerprint in hex
    window_start: int
    allowance: int


class Case(Struct, eq=False, gc=False):
    """What is recorded alike of decisions that differ in their ids and items alone, as most of a request's do.

    Ids are UUIDs in hex; `epoch` is the one that the facts were read at. `number` is the case's in its batch, and
    `counter` that of the counter which its decisions claim from.
    """

    account: str
    epoch: int
    requester: int
    policy: str | None
    policy_version: int | None
    allowed: bool
    reason: str | None
    rule_index: int | None
    permission: str | None
    facts: dict[str, Any]
    created: str  # ISO 8601
    rate_reset: int | None
    number: int = 0
    counter: int | None = None


class Charge(Struct, frozen=True, gc=False):
    """What a decision costs, if it is recorded as allowed. Ids are UUIDs in hex; the amount is in millionths."""

    amount: int
    currency: str
    license: str
    license_type: str


class Entry(Struct, frozen=True, gc=False):
    """A decision to be recorded: its id and its item's, as UUIDs in hex, and the rest."""

    id: str
    content: str
    case: Case
    claim: Claim | None = None
    charge: Charge | None = None


class EventRow(Struct, gc=False):
    """An entry as it goes to the database; `ordinal` says as which in turn it claims from its case's counter."""

    id: str
    content: str
    case: int
    ordinal: int | None = None


class ChargeOfCase(Struct, gc=False):
    case: int
    amount: int
    currency: str
    license: str
    license_type: str


class Outcome(Struct, frozen=True, gc=False):
    """What became of a record: it is stored unless it was `stale`, and as a denial unless `granted`.

    One that was `retry` is stale for its batch's sake alone: the facts that it was decided on may hold all the
    same. `remaining` is what the rule's limit has left; None without a claim.
    """

    stale: bool = False
    granted: bool = True
    remaining: int | None = None
    retry: bool = False


STORED = Outcome()
STALE = Outcome(stale=True)
RETRY = Outcome(stale=True, retry=True)

encode = JsonEncoder().encode


class LimitCounter(Struct, gc=False):
    """All claims of a batch on one rule's limit for one requester."""

    number: int
    account: str
    requester: int
    policy: str
    rule: str
    window_start: int
    allowance: int
    claimed: int = 0


def conflicts(many: Sequence[Sequence[Entry]]) -> list[Outcome | None]:
    """What to tell those of these requests that cannot go into one batch with the others; None for those that can.

    A request is stored as a whole or not at all: one that was stored in part would be decided anew as a whole, and
    what it costs charged twice. All decisions of one request are of one account, one epoch and one moment. Of several
    epochs of an account all but the newest are over, which is nothing that the newest should suffer for.
    """
    epochs: dict[str, int] = {}
    for entries in many:
        for entry in entries[:1]:
            epochs[entry.case.account] = max(entry.case.epoch, epochs.get(entry.case.account, entry.case.epoch))
    windows: dict[tuple[int, str, str], int] = {}
    outcomes: list[Outcome | None] = []
    for entries in many:
        claimed = {
            (claim.requester, claim.policy, claim.rule): claim.window_start
            for claim in (entry.claim for entry in entries)
            if claim is not None
        }
        refusal = None
        for case in (entry.case for entry in entries[:1]):
            if case.epoch < epochs[case.account]:
                refusal = STALE
            elif any(windows.get(key, at) != at for key, at in claimed.items()):
                refusal = RETRY
            else:
                windows |= claimed
        outcomes.append(refusal)
    return outcomes


class Batch:
    """Decisions to be recorded together, claims on the same counter numbered in the order given.

    An entry of another window of a counter is left out (None in `rows`): decided anew, it goes into a later batch.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.rows: list[EventRow | None] = []
        self.cases: dict[Case, None] = {}  # in their order
        self.charges: list[ChargeOfCase] = []
        self.counters: dict[tuple[int, str, str], LimitCounter] = {}
        for entry in entries:
            self.rows.append(self.row(entry))

    def row(self, entry: Entry) -> EventRow | None:
        case, claim = entry.case, entry.claim
        counter = None if claim is None else self.counter(claim)
        if counter is not None and claim is not None and counter.window_start != claim.window_start:
            return None
        if case not in self.cases:
            case.number = len(self.cases)
            case.counter = None if counter is None else counter.number
            self.cases[case] = None
            if entry.charge is not None:
                self.charges.append(ChargeOfCase(case.number, *astuple(entry.charge)))
        if counter is None:
            return EventRow(entry.id, entry.content, case.number)
        counter.claimed += 1
        return EventRow(entry.id, entry.content, case.number, counter.claimed)

    def counter(self, claim: Claim) -> LimitCounter:
        key = (claim.requester, claim.policy, claim.rule)
        counter = self.counters.get(key)
        if counter is None:
            counter = self.counters[key] = LimitCounter(
                len(self.counters),
                claim.account,
                claim.requester,
                claim.policy,
                claim.rule,
                claim.window_start,
                claim.allowance,
            )
        return counter

    def statement(self) -> tuple[str, list[Any]]:
        """What PostgreSQL is to run, with its parameters."""
        rows = [row for row in self.rows if row is not None]
        parts = [list(self.cases), rows, list(self.counters.values())]
        if self.charges:
            parts.insert(0, self.charges)
        parameters: list[Any] = [encode(part).decode() for part in parts]
        return postgresql(charging=bool(self.charges)), parameters

    def outcomes(self, stale: Collection[str], settled: Mapping[int, tuple[int, int]]) -> list[Outcome]:
        """From the accounts that were stale, and each counter's room before and number granted."""
        outcomes = []
        for entry, row in zip(self.entries, self.rows, strict=True):
            if row is None:
                outcomes.append(RETRY)
            elif entry.case.account in stale:
                outcomes.append(STALE)
            elif row.ordinal is None or entry.case.counter is None:
                outcomes.append(STORED)
            else:
                room, granted = settled[entry.case.counter]
                outcomes.append(Outcome(granted=row.ordinal <= granted, remaining=max(room - row.ordinal, 0)))
        return outcomes

    def read_row(self, row: Sequence[Any]) -> list[Outcome]:
        """From the row that the PostgreSQL statement returns; its values may be bytes."""
        stale, settled = (orjson.loads(text) if text else [] for text in row[:2])
        outcomes = self.outcomes(stale, {number: (room, granted) for number, room, granted in settled})
        if int(row[2]) != sum(not outcome.stale for outcome in outcomes):
            raise RuntimeError(f"{row[2]} decisions were stored where the outcomes are {outcomes}")
        return outcomes
