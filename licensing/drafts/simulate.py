"""Replay recorded decisions against a proposed policy. Reads only: writes nothing and locks nothing."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from threading import Lock
from time import perf_counter, sleep

import orjson

from analytics.models import LedgerEntry
from analytics.windows import ALL, DAY, MICROSECOND, PERIODS, USAGE, end_of_day, start_of_period
from kit.http.errors import ValidationFailed, check_client_connected
from kit.values import ids
from kit.values.ids import RawId
from licensing.access.facts import facts_of_event
from licensing.drafts.past_decisions import Row, newest_decisions
from licensing.drafts.replay import Past, Replay, ReplayTotals, earliest_window
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.conditions import CONDITIONS
from licensing.policies.facts import OF_CHECK, as_it_is
from licensing.policies.models import Policy
from licensing.policies.rules import parse_rules

MAX_DECISIONS = 100_000
MAX_TESTS = 10_000_000  # conditions times decisions; takes one or two seconds of CPU time
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)  # before all decisions

TURN = 3_000  # tests in a burst, about a millisecond
LONGEST_PAUSE = 0.02  # seconds between two bursts
TESTS_OF_READING = 50  # cost of reading and counting a decision, in condition tests

# Facts used only by the condition of the same name that take long to load.
UNREAD = frozenset(fact.name for fact in OF_CHECK if fact.load is not as_it_is and fact.name in CONDITIONS)

# One burst at a time per process: several would pass the GIL among each other, and checks would wait for them all.
bursts = Lock()


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a replay. `end` is exclusive. `since` is the time of the first decision counted, or None."""

    draft: CompiledPolicy
    start: datetime
    end: datetime
    since: datetime | None
    truncated: bool  # whether some decisions since `start` were not replayed
    tally: ReplayTotals
    at_stake: dict[str, Decimal]  # by currency: revenue of the decisions that would be denied


def resolve_window(
    now: datetime, period: str | None, start: datetime | None, end: datetime | None
) -> tuple[datetime, datetime]:
    """Return the period's start and exclusive end, with the same rules as reports.

    Raises ValidationFailed if the start is after the end.
    """
    end = end or end_of_day(now)
    if start is None:
        start = min(BEGINNING, end - MICROSECOND)
        period = period or USAGE.period
        if period != ALL and end - BEGINNING > PERIODS[period] * DAY:
            start = start_of_period(end, period)
    if start >= end:
        raise ValidationFailed("Must not be after endDate.", param="startDate")
    return start, end


def compile_draft(policy: Policy, fields: Mapping[str, object]) -> CompiledPolicy:
    """Compile the policy with the given rules and default action; the saved version if neither is given."""
    if not {"rules", "default_action"} & fields.keys():
        return CompiledPolicy.of(policy.pk, policy.version, policy.default_action, parse_rules(policy.rules))
    rules = parse_rules(fields.get("rules", policy.rules))
    return CompiledPolicy.of(None, None, str(fields.get("default_action", policy.default_action)), rules)


def simulate(
    policy: Policy, draft: CompiledPolicy, start: datetime, end: datetime, limit: int | None = None
) -> Simulation:
    """Replay the newest `limit` decisions between `start` and `end` (exclusive) on items that now link to the policy.

    Reads back to the beginning of the longest rate-limit window open at `start`, within the limit. Policies with more
    than a hundred conditions get fewer decisions. Raises ClientGone.
    """
    tests = count_conditions(draft)
    limit = min(limit or MAX_DECISIONS, MAX_TESTS // max(tests, 1))
    turn = max(1, TURN // (TESTS_OF_READING + tests))
    past = newest_decisions(policy, earliest_window(draft, max(start, BEGINNING)), end, limit)
    replay = Replay(draft, start)
    at_stake: dict[str, Decimal] = {}
    since = None
    earns = LedgerEntry.objects.filter(account_id=policy.account_id).exists()
    asked = {condition.name for rule in draft.rules for condition in rule.conditions}
    unread = UNREAD - asked
    for chunk in past.chunks:
        check_client_connected()
        denied = []
        for begin in range(0, len(chunk), turn):
            with bursts:
                began = perf_counter()
                for row in chunk[begin : begin + turn]:
                    one = build_past_decision(row, unread)
                    change = replay.see(one)
                    if change is not None and one.allowed:
                        denied.append(one.id)
                    if since is None and one.facts.now >= start:
                        since = one.facts.now
            # Sleep as long as the burst took, including waits for the GIL, so that busy processes yield more time.
            sleep(min(perf_counter() - began, LONGEST_PAUSE))
        if earns:
            add_charges(at_stake, denied)
    is_truncated = past.cut is not None and past.cut > start
    return Simulation(draft, start, end, since, is_truncated, replay.tally, at_stake)


def count_conditions(draft: CompiledPolicy) -> int:
    """Return how many conditions a decision by the draft may test."""
    return sum(len(rule.tests) for rule in draft.rules)


def build_past_decision(row: Row, unread: Iterable[str] = ()) -> Past:
    """Build the recorded decision, skipping `unread` facts. Parsing addresses would take a third of the time."""
    key, created, content, requester_id, permission, allowed, reason, text = row
    facts = orjson.loads(text)
    for name in unread:
        facts.pop(name, None)
    return Past(
        id=key,
        content=content,
        allowed=allowed,
        reason=reason,
        facts=facts_of_event(facts, requester_id, permission, aware(created)),
    )


def aware(moment: datetime) -> datetime:
    """Add UTC to naive datetimes from SQLite."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def add_charges(at_stake: dict[str, Decimal], decisions: list[RawId]) -> None:
    """Add the revenue of these decisions. A charge's ledger entry has the decision's id with another prefix."""
    entries = [ids.encode("led", ids.raw_bytes(key)) for key in decisions]
    for amount, currency in LedgerEntry.objects.filter(pk__in=entries).values_list("amount", "currency"):
        at_stake[currency] = at_stake.get(currency, Decimal(0)) + amount
