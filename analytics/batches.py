"""Decisions on their way to be recorded together: what is written of each, and what became of it."""

import os
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from itertools import cycle
from typing import Any

import orjson
from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder

from analytics.statements import postgresql


class Claim(Struct, frozen=True):
    """A use of a rule's limit: of `allowance` in the window that began at `window_start` (Unix seconds)."""

    account: str
    requester: int
    policy: str  # UUID in hex
    rule: str  # the rule's fingerprint in hex
    window_start: int
    allowance: int


class Record(Struct):
    """A decision to be recorded. Ids are UUIDs in hex; `epoch` is the one that its facts were read at.

    `counter` and `ordinal` say which of the batch's counters it claims from, and as which in turn.
    """

    id: str
    account: str
    epoch: int
    content: str
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
    counter: int | None = None
    ordinal: int | None = None


class Charge(Struct, frozen=True):
    """What a decision costs, if it is recorded as allowed. Ids are UUIDs in hex; the amount is in millionths."""

    id: str  # the decision's
    amount: int
    currency: str
    license: str
    license_type: str


Entry = tuple[Record, Claim | None, Charge | None]

SHARDS = 16  # see analytics.models.usage.HourlyUsage
# Two for each process, for it has two commits in flight.
shards = cycle((os.getpid() * 2 % SHARDS, os.getpid() * 2 % SHARDS + 1))


class Outcome(Struct, frozen=True):
    """What became of a record: it is stored unless it was `stale`, and as a denial unless `granted`.

    `remaining` is what the rule's limit has left; None without a claim.
    """

    stale: bool = False
    granted: bool = True
    remaining: int | None = None


STORED = Outcome()
STALE = Outcome(stale=True)

encode = JsonEncoder().encode


class Counter(Struct):
    """All claims of a batch on one rule's limit for one requester."""

    number: int
    account: str
    requester: int
    policy: str
    rule: str
    window_start: int
    allowance: int
    claimed: int = 0


class Batch:
    """Decisions of one UTC day to be recorded together, claims on the same counter numbered in the order given."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.everything = [record for record, _, _ in entries]
        self.day = self.everything[0].created[:10]
        self.records: list[Record] = []
        self.charges: list[Charge] = []
        self.counters: dict[tuple[int, str, str], Counter] = {}
        for record, claim, charge in entries:
            record.counter = record.ordinal = None
            if record.created[:10] != self.day:
                continue  # decided anew, this goes into the next batch
            if claim is not None:
                counter = self.counter(claim)
                if counter.window_start != claim.window_start:
                    continue  # one statement counts in one window
                counter.claimed += 1
                record.counter, record.ordinal = counter.number, counter.claimed
            self.records.append(record)
            if charge is not None:
                self.charges.append(charge)

    def counter(self, claim: Claim) -> Counter:
        key = (claim.requester, claim.policy, claim.rule)
        counter = self.counters.get(key)
        if counter is None:
            counter = self.counters[key] = Counter(
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
        shard = next(shards)
        parameters = [encode(self.records).decode(), encode(list(self.counters.values())).decode(), shard]
        if self.charges:
            parameters = [encode(self.charges).decode(), *parameters, shard]
        return postgresql(date.fromisoformat(self.day), charging=bool(self.charges)), parameters

    def outcomes(self, stale: Collection[str], settled: Mapping[int, tuple[int, int]]) -> list[Outcome]:
        """From the accounts that were stale, and each counter's room before and number granted."""
        outcomes = []
        taken = {record.id for record in self.records}
        for record in self.everything:
            if record.account in stale or record.id not in taken:
                outcomes.append(STALE)
            elif record.counter is None or record.ordinal is None:
                outcomes.append(STORED)
            else:
                room, granted = settled[record.counter]
                remaining = max(room - record.ordinal, 0)
                outcomes.append(Outcome(granted=record.ordinal <= granted, remaining=remaining))
        return outcomes

    def read_row(self, row: tuple[str | None, str | None, int]) -> list[Outcome]:
        """From the row that the PostgreSQL statement returns."""
        stale, settled = (orjson.loads(text) if text else [] for text in row[:2])
        outcomes = self.outcomes(stale, {number: (room, granted) for number, room, granted in settled})
        if row[2] != sum(not outcome.stale for outcome in outcomes):
            raise RuntimeError(f"{row[2]} decisions were stored where the outcomes are {outcomes}")
        return outcomes
