"""Recording decisions: the events, the counts of rule limits and the usage figures, in one transaction.

`record` writes any number of decisions, of any accounts, in one statement on PostgreSQL: that the facts they were made
on still hold is checked, rule limits are counted, and events and totals are inserted at the same moment. The answer to
a decision leaves after that has committed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
import psycopg
from django.db import connection
from msgspec import Struct
from msgspec.json import Encoder as JsonEncoder

from analytics.statements import COUNT_ON_SQLITE, INSERT_EVENT, POSTGRESQL, RATE_LIMIT_EXCEEDED, TOTAL


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


Entry = tuple[Record, Claim | None]


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
    """Decisions to be recorded together, their claims on the same counter numbered in the order given."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.everything = [record for record, _ in entries]
        self.records: list[Record] = []
        self.counters: dict[tuple[int, str, str], Counter] = {}
        for record, claim in entries:
            record.counter = record.ordinal = None
            if claim is not None:
                counter = self.counter(claim)
                if counter.window_start != claim.window_start:
                    continue  # one statement counts in one window: decided anew, this goes into the next batch
                counter.claimed += 1
                record.counter, record.ordinal = counter.number, counter.claimed
            self.records.append(record)

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

    def parameters(self) -> tuple[str, str]:
        """The two JSON arrays of the PostgreSQL statement."""
        return encode(self.records).decode(), encode(list(self.counters.values())).decode()

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


def record(entries: Sequence[Entry]) -> list[Outcome]:
    """Writes the decisions on Django's connection: in the caller's transaction, or on PostgreSQL in one of its own."""
    if not entries:
        return []
    batch = Batch(entries)
    if connection.vendor == "postgresql":
        return batch.read_row(run_prepared(POSTGRESQL, batch.parameters()))
    with connection.cursor() as cursor:
        return record_on_sqlite(cursor, batch)


def run_prepared(statement: str, parameters: Sequence[Any]) -> Any:
    """The row that a statement returns, prepared once for each connection: planning it costs more than running it.

    Django's own cursors never prepare, so this takes one of psycopg's on the same connection.
    """
    connection.ensure_connection()
    raw: Any = connection.connection
    raw.prepare_threshold = 0
    with connection.wrap_database_errors, psycopg.Cursor(raw) as cursor:
        return cursor.execute(statement, parameters, prepare=True).fetchone()


def record_on_sqlite(cursor: Any, batch: Batch) -> list[Outcome]:
    """The same steps one by one: SQLite has one writer at a time, and its statements cost no round trip."""
    epochs = {account: current_epoch(cursor, account) for account in {record.account for record in batch.records}}
    stale = {record.account for record in batch.records if record.epoch != epochs[record.account]}
    settled = {
        counter.number: count_on_sqlite(cursor, counter)
        for counter in batch.counters.values()
        if counter.account not in stale
    }
    outcomes = batch.outcomes(stale, settled)
    events: list[tuple[Any, ...]] = []
    totals: dict[bytes, tuple[int, int]] = {}
    for one, outcome in zip(batch.everything, outcomes, strict=True):
        if outcome.stale:
            continue
        content, allowed = bytes.fromhex(one.content), one.allowed and outcome.granted
        requests_before, allowed_before = totals.get(content, (0, 0))
        totals[content] = (requests_before + 1, allowed_before + allowed)
        events.append(
            (
                bytes.fromhex(one.id),
                bytes.fromhex(one.account),
                content,
                one.requester,
                one.policy and bytes.fromhex(one.policy),
                one.policy_version,
                allowed,
                one.reason if outcome.granted else RATE_LIMIT_EXCEEDED,
                one.rule_index,
                one.permission,
                orjson.dumps(one.facts).decode(),
                outcome.remaining,
                one.rate_reset,
                one.created.replace("T", " ").removesuffix("Z"),  # as Django writes it
            )
        )
    cursor.executemany(INSERT_EVENT, events)
    cursor.executemany(TOTAL.format(source="VALUES (%s, %s, %s)"), [(key, *both) for key, both in totals.items()])
    return outcomes


def current_epoch(cursor: Any, account: str) -> int:
    row = cursor.execute("SELECT epoch FROM accounts_account WHERE id = %s", [bytes.fromhex(account)]).fetchone()
    return row[0] if row else -1


def count_on_sqlite(cursor: Any, counter: Counter) -> tuple[int, int]:
    """The counter's room before these claims, and how many of them it granted."""
    first = min(counter.claimed, counter.allowance)
    key = (counter.requester, bytes.fromhex(counter.policy), bytes.fromhex(counter.rule), counter.window_start)
    row = cursor.execute(COUNT_ON_SQLITE, [*key, first, counter.allowance, counter.claimed, first]).fetchone()
    used, granted = row
    return counter.allowance - used + granted, granted
