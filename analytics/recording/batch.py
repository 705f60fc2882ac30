"""Batches of decisions to be recorded together: the records, and the outcome of each."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder
from msgspec.structs import astuple

from analytics.recording.statement import postgresql


class Claim(Struct, frozen=True, gc=False):
    """One use of a rule's limit: `allowance` per window, this one since `window_start` (Unix seconds)."""

    account: str
    requester: int
    policy: str  # UUID in hex
    rule: str  # the rule's fingerprint in hex
    window_start: int
    allowance: int


class Case(Struct, eq=False, gc=False):
    """The part of a record that decisions of a request share when they differ only in id and item.

    Ids are UUIDs in hex. `epoch` is the account's when the facts were read. `number` is the position of the case in
    its batch, and `counter` the number of the counter that its decisions claim from.
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
    facts: dict[str, object]
    created: str  # ISO 8601
    rate_reset: int | None
    number: int = 0
    counter: int | None = None
    # Where decisions are only observed: why this one would have been denied, empty if it would have been allowed.
    observed: str | None = None
    also: Sequence[str] = ()  # by names of accounts.epochs, what it depends on beside items, policy and requester


class Charge(Struct, frozen=True, gc=False):
    """What a decision costs, if it is recorded as allowed. Ids are UUIDs in hex; the amount is in millionths.

    `license` is None where the access was paid for by itself.
    """

    amount: int
    currency: str
    license: str | None
    license_type: str


class Reply(Struct, eq=False, gc=False):
    """The sealed reply to a request with an Idempotency-Key, kept with its decisions if the key is free.

    `account` is a UUID in hex, `fingerprint` in hex too. `number` is its position in the batch.
    """

    account: str
    key: str
    fingerprint: str
    sealed: str
    created: str  # ISO 8601
    number: int = 0


class Entry(Struct, frozen=True, gc=False):
    """A decision to be recorded; `id` and `content` are UUIDs in hex. One with a `reply` has no claim."""

    id: str
    content: str
    case: Case
    claim: Claim | None = None
    charge: Charge | None = None
    reply: Reply | None = None


class EventRow(Struct, gc=False, omit_defaults=True):
    """An entry as sent to the database; `ordinal` is its position (1-based) among the claims on its counter."""

    id: str
    content: str
    case: int
    ordinal: int | None = None
    reply: int | None = None


class ChargeOfCase(Struct, gc=False):
    case: int
    amount: int
    currency: str
    license: str | None
    license_type: str


class Outcome(Struct, frozen=True, gc=False):
    """The result of recording a decision: stored unless `stale`, and as a denial unless `granted`.

    `retry`: stale only because of its batch; the facts that it was decided on may still hold. `taken`: another request
    had its Idempotency-Key first. `remaining`: what the rule's limit has left; None without a claim. `behind`: the
    account has reached a newer epoch, at which the facts still hold.
    """

    stale: bool = False
    granted: bool = True
    remaining: int | None = None
    retry: bool = False
    taken: bool = False
    behind: bool = False


STORED = Outcome()
STORED_BEHIND = Outcome(behind=True)
STALE = Outcome(stale=True)
RETRY = Outcome(stale=True, retry=True)
TAKEN = Outcome(stale=True, taken=True)

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
    """The outcome of each request that cannot share a batch with the others; None for one that can.

    A request is stored as a whole or not at all: the stored part of one would be decided and charged a second time
    when it is retried. All decisions of one request are of one account, one epoch and one moment. Of several
    epochs of an account only the newest can be stored; the others must not hold it up.
    """
    epochs: dict[str, int] = {}
    for entries in many:
        if entries and (case := entries[0].case).epoch > epochs.get(case.account, -1):
            epochs[case.account] = case.epoch
    windows: dict[tuple[int, str, str], int] = {}
    outcomes: list[Outcome | None] = []
    for entries in many:
        refusal = None
        if entries and (case := entries[0].case).epoch < epochs[case.account]:
            refusal = STALE
        elif claims := [entry.claim for entry in entries if entry.claim is not None]:
            claimed = {(claim.requester, claim.policy, claim.rule): claim.window_start for claim in claims}
            if any(windows.get(key, at) != at for key, at in claimed.items()):
                refusal = RETRY
            else:
                windows |= claimed
        outcomes.append(refusal)
    return outcomes


class Batch:
    """Decisions to be recorded in one statement. Claims on the same counter are numbered in the order given.

    An entry for a different window of a counter is left out (None in `rows`) and decided again for a later batch.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self.rows: list[EventRow | None] = []
        self.cases: dict[Case, None] = {}  # in their order
        self.charges: list[ChargeOfCase] = []
        self.counters: dict[tuple[int, str, str], LimitCounter] = {}
        self.replies: dict[Reply, None] = {}  # in their order
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
            reply = None if entry.reply is None else self.reply(entry.reply)
            return EventRow(entry.id, entry.content, case.number, None, reply)
        counter.claimed += 1
        return EventRow(entry.id, entry.content, case.number, counter.claimed)

    def reply(self, reply: Reply) -> int:
        if reply not in self.replies:
            reply.number = len(self.replies)
            self.replies[reply] = None
        return reply.number

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

    def names_of(self, case: Case) -> set[str]:
        """What the decisions of a case depend on, by names of accounts.epochs."""
        items = {entry.content for entry in self.entries if entry.case is case}
        return {*case.also, str(case.requester), case.policy or "", *items}

    def statement(self) -> tuple[str, list[str]]:
        """The statement for PostgreSQL and its parameters."""
        rows = [row for row in self.rows if row is not None]
        parts = [list(self.cases), rows, list(self.counters.values())]
        if self.charges:
            parts.insert(0, self.charges)
        if self.replies:
            parts.append(list(self.replies))
        statement = postgresql(charging=bool(self.charges), keeping=bool(self.replies))
        return statement, [encode(part).decode() for part in parts]

    def outcomes(
        self,
        stale: Collection[str],
        settled: Mapping[int, tuple[int, int]],
        behind: Collection[str],
        claimed: Collection[int] = (),
    ) -> list[Outcome]:
        """The outcome of each entry, from the stale accounts, each counter's (room before, number granted), the
        accounts that have reached a newer epoch, and the numbers of the replies whose keys were free."""
        outcomes = []
        for entry, row in zip(self.entries, self.rows, strict=True):
            if row is None:
                outcomes.append(RETRY)
            elif entry.case.account in stale:
                outcomes.append(STALE)
            elif row.reply is not None and row.reply not in claimed:
                outcomes.append(TAKEN)
            elif row.ordinal is None or entry.case.counter is None:
                outcomes.append(STORED_BEHIND if entry.case.account in behind else STORED)
            else:
                room, granted = settled[entry.case.counter]
                is_granted, is_behind = row.ordinal <= granted, entry.case.account in behind
                remaining = max(room - row.ordinal, 0)
                outcomes.append(Outcome(granted=is_granted, remaining=remaining, behind=is_behind))
        return outcomes

    def read_row(self, row: Sequence[Any]) -> list[Outcome]:
        """The outcomes from PostgreSQL's row: JSON texts and a number, or the bytes of each."""
        stale, settled, claimed, behind = (orjson.loads(row[place]) if row[place] else [] for place in (0, 1, 3, 4))
        counts = {number: (room, granted) for number, room, granted in settled}
        outcomes = self.outcomes(stale, counts, behind, set(claimed))
        if int(row[2]) != sum(not outcome.stale for outcome in outcomes):
            raise RuntimeError(f"{row[2]} decisions were stored where the outcomes are {outcomes}")
        return outcomes
