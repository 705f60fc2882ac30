"""Recording decisions: the events, the counts of rule limits and the usage figures, in one transaction.

`record` writes any number of decisions, of any accounts, in one statement on PostgreSQL: that the facts they were made
on still hold is checked, rule limits are counted, and events and totals are inserted at the same moment. The answer to
a decision leaves after that has committed.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"


@dataclass(frozen=True, slots=True)
class Claim:
    """A use of a rule's limit: of `allowance` in the window that began at `window_start` (Unix seconds)."""

    requester: int
    policy: str  # UUID in hex
    rule: bytes  # the rule's fingerprint
    window_start: int
    allowance: int

    @property
    def counter(self) -> tuple[int, str, bytes]:
        return self.requester, self.policy, self.rule


@dataclass(frozen=True, slots=True)
class Record:
    """A decision to be recorded. Ids are UUIDs in hex; `epoch` is the one that its facts were read at."""

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
    claim: Claim | None
    rate_reset: int | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a record: it is stored unless it was `stale`, and as a denial unless `granted`.

    `remaining` is what the rule's limit has left; None without a claim.
    """

    stale: bool = False
    granted: bool = True
    remaining: int | None = None


STORED = Outcome()
STALE = Outcome(stale=True)

# base is what the counter's current window has used so far; excluded holds the new claims.
BASE = "CASE WHEN excluded.window_start > u.window_start THEN 0 ELSE u.used END"
COUNT = """
INSERT INTO analytics_ruleusage AS u
  (requester_id, policy_id, rule, window_start, used, allowance, claimed, granted)
{source}
ON CONFLICT (requester_id, policy_id, rule) DO UPDATE SET
  window_start = {greatest}(u.window_start, excluded.window_start),
  used = {base} + {least}(excluded.claimed, {greatest}(excluded.allowance - {base}, 0)),
  allowance = excluded.allowance,
  claimed = excluded.claimed,
  granted = {least}(excluded.claimed, {greatest}(excluded.allowance - {base}, 0))
"""
TOTAL = """
INSERT INTO analytics_contentusage AS u (content_id, requests, allowed)
{source}
ON CONFLICT (content_id) DO UPDATE
SET requests = u.requests + excluded.requests, allowed = u.allowed + excluded.allowed
"""
EVENT_COLUMNS = """id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, rule_index,
  permission, facts, rate_remaining, rate_reset, created"""

# Rows are written in one order everywhere, so that transactions that meet wait for each other in turn.
POSTGRESQL = f"""
WITH entry AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%s::json) AS entry (
    id uuid, account uuid, epoch bigint, content uuid, requester bigint, policy uuid, policy_version int,
    allowed boolean, reason text, rule_index smallint, permission text, facts jsonb, created timestamptz,
    counter int, ordinal int, rate_reset bigint)
), counter AS MATERIALIZED (
  SELECT number, account, requester, policy, decode(rule, 'hex') AS rule, window_start, allowance, claimed
  FROM json_to_recordset(%s::json) AS counter (
    number int, account uuid, requester bigint, policy uuid, rule text, window_start bigint, allowance bigint,
    claimed bigint)
), stale AS MATERIALIZED (
  SELECT DISTINCT entry.account, coalesce(account.epoch, -1) AS epoch
  FROM entry LEFT JOIN accounts_account account ON account.id = entry.account
  WHERE account.epoch IS DISTINCT FROM entry.epoch
), counted AS ({
    COUNT.format(
        source='''
  SELECT requester, policy, rule, window_start, least(claimed, allowance), allowance, claimed,
    least(claimed, allowance)
  FROM counter WHERE account NOT IN (SELECT account FROM stale) ORDER BY requester, policy, rule''',
        base=BASE,
        least="least",
        greatest="greatest",
    )
}  RETURNING requester_id, policy_id, rule, used, granted
), settled AS (
  SELECT number, counter.allowance - counted.used + counted.granted AS room, counted.granted
  FROM counter JOIN counted
  ON counted.requester_id = counter.requester AND counted.policy_id = counter.policy AND counted.rule = counter.rule
), stored AS (
  INSERT INTO analytics_accessevent ({EVENT_COLUMNS})
  SELECT id, account, content, requester, policy, policy_version,
    allowed AND (counter IS NULL OR ordinal <= granted),
    CASE WHEN ordinal > granted THEN '{RATE_LIMIT_EXCEEDED}' ELSE reason END,
    rule_index, permission, facts, greatest(room - ordinal, 0), rate_reset, created
  FROM entry LEFT JOIN settled ON settled.number = entry.counter
  WHERE account NOT IN (SELECT account FROM stale)
  RETURNING content_id, allowed
), totalled AS ({
    TOTAL.format(
        source='''
  SELECT content_id, count(*), count(*) FILTER (WHERE allowed) FROM stored GROUP BY content_id ORDER BY content_id'''
    )
})
SELECT (SELECT json_agg(json_build_array(replace(account::text, '-', ''), epoch)) FROM stale)::text,
       (SELECT json_agg(json_build_array(number, room, granted)) FROM settled)::text
"""  # noqa: S608 - made of constants


class Batch:
    """Decisions to be recorded together, their claims on the same counter numbered in the order given."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        self.counters: dict[tuple[int, str, bytes], int] = {}
        self.claims: list[list[Record]] = []
        self.places: list[tuple[int | None, int | None]] = []
        for record in records:
            if record.claim is None:
                self.places.append((None, None))
                continue
            number = self.counters.setdefault(record.claim.counter, len(self.claims))
            if number == len(self.claims):
                self.claims.append([])
            self.claims[number].append(record)
            self.places.append((number, len(self.claims[number])))

    def parameters(self) -> tuple[str, str]:
        """The two JSON arrays of the PostgreSQL statement."""
        entries = [
            {
                "id": record.id,
                "account": record.account,
                "epoch": record.epoch,
                "content": record.content,
                "requester": record.requester,
                "policy": record.policy,
                "policy_version": record.policy_version,
                "allowed": record.allowed,
                "reason": record.reason,
                "rule_index": record.rule_index,
                "permission": record.permission,
                "facts": record.facts,
                "created": record.created,
                "counter": number,
                "ordinal": ordinal,
                "rate_reset": record.rate_reset,
            }
            for record, (number, ordinal) in zip(self.records, self.places, strict=True)
        ]
        counters = [
            {
                "number": number,
                "account": claimants[0].account,
                "requester": claim.requester,
                "policy": claim.policy,
                "rule": claim.rule.hex(),
                "window_start": claim.window_start,
                "allowance": claim.allowance,
                "claimed": len(claimants),
            }
            for number, claimants in enumerate(self.claims)
            if (claim := claimants[0].claim) is not None
        ]
        return orjson.dumps(entries).decode(), orjson.dumps(counters).decode()

    def outcomes(self, epochs: dict[str, int], settled: dict[int, tuple[int, int]]) -> list[Outcome]:
        """From the epochs of the accounts that were stale, and each counter's room before and number granted."""
        outcomes = []
        for record, (number, ordinal) in zip(self.records, self.places, strict=True):
            if record.account in epochs:
                outcomes.append(STALE)
            elif number is None or ordinal is None:
                outcomes.append(STORED)
            else:
                room, granted = settled[number]
                outcomes.append(Outcome(granted=ordinal <= granted, remaining=max(room - ordinal, 0)))
        return outcomes

    def read_row(self, row: tuple[str | None, str | None]) -> list[Outcome]:
        """From the row that the PostgreSQL statement returns."""
        stale, settled = (orjson.loads(text) if text else [] for text in row)
        return self.outcomes(dict(stale), {number: (room, granted) for number, room, granted in settled})


def record(records: Sequence[Record]) -> list[Outcome]:
    """Writes the decisions within the caller's transaction, on Django's connection."""
    if not records:
        return []
    batch = Batch(records)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL, batch.parameters())
            return batch.read_row(cursor.fetchone())
        return record_on_sqlite(cursor, batch)


def record_on_sqlite(cursor: Any, batch: Batch) -> list[Outcome]:
    """The same steps one by one: SQLite has one writer at a time, and its statements cost no round trip."""
    accounts = {record.account: record.epoch for record in batch.records}
    epochs = {account: current_epoch(cursor, account) for account in sorted(accounts)}
    stale = {
        record.account: epochs[record.account] for record in batch.records if record.epoch != epochs[record.account]
    }
    settled = {
        number: count_on_sqlite(cursor, claimants[0].claim, len(claimants))
        for number, claimants in enumerate(batch.claims)
        if claimants[0].account not in stale and claimants[0].claim is not None
    }
    outcomes = batch.outcomes(stale, settled)
    rows, requests, allowed = [], Counter[bytes](), Counter[bytes]()
    for one, outcome in zip(batch.records, outcomes, strict=True):
        if outcome.stale:
            continue
        content, is_allowed = bytes.fromhex(one.content), one.allowed and outcome.granted
        requests[content] += 1
        allowed[content] += is_allowed
        rows.append(
            (
                bytes.fromhex(one.id),
                bytes.fromhex(one.account),
                content,
                one.requester,
                one.policy and bytes.fromhex(one.policy),
                one.policy_version,
                is_allowed,
                one.reason if outcome.granted else RATE_LIMIT_EXCEEDED,
                one.rule_index,
                one.permission,
                orjson.dumps(one.facts).decode(),
                outcome.remaining,
                one.rate_reset,
                one.created.replace("T", " ").removesuffix("Z"),  # as Django writes it
            )
        )
    marks = ", ".join(["%s"] * 14)
    cursor.executemany(f"INSERT INTO analytics_accessevent ({EVENT_COLUMNS}) VALUES ({marks})", rows)  # noqa: S608
    totals = [(content, number, allowed[content]) for content, number in requests.items()]
    cursor.executemany(TOTAL.format(source="VALUES (%s, %s, %s)"), totals)
    return outcomes


def current_epoch(cursor: Any, account: str) -> int:
    row = cursor.execute("SELECT epoch FROM accounts_account WHERE id = %s", [UUID(account).bytes]).fetchone()
    return row[0] if row else -1


def count_on_sqlite(cursor: Any, claim: Claim, claimed: int) -> tuple[int, int]:
    """The counter's room before these claims, and how many of them it granted."""
    source = "VALUES (%s, %s, %s, %s, min(%s, %s), %s, %s, min(%s, %s))"
    statement = COUNT.format(source=source, base=BASE, least="min", greatest="max") + "RETURNING used, granted"
    key = (claim.requester, bytes.fromhex(claim.policy), claim.rule, claim.window_start)
    of = (claimed, claim.allowance)
    used, granted = cursor.execute(statement, [*key, *of, claim.allowance, claimed, *of]).fetchone()
    return claim.allowance - used + granted, granted
