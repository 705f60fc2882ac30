"""Computes how a policy would have decided past checks, one recorded decision at a time. Needs no database.

Counts rate limits like the service: per rule and requester or visitor, in order of time, only for allowed checks. A
window that began before the first decision starts at zero. Wallets deny what they denied then, unless the policy makes
the access affordable; nothing is spent.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, TypeVar

from kit.values.ids import RawId
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Reason, build_unpaid_denial, falls_short, judge
from licensing.policies.facts import Facts
from licensing.policies.rate_limits import (
    counter_key,
    counter_of_visitor,
    counts_visitor,
    effective_limit,
    limit_window,
)
from licensing.policies.rules import Rule

MAX_EXAMPLES = 5  # of each kind
MAX_ROWS = 10
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A recorded decision; ids are the database's raw values."""

    id: RawId
    content: RawId
    allowed: bool
    reason: str | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that would change, and the index of the deciding rule (None for the default action)."""

    past: RecordedDecision
    allowed: bool
    reason: str | None
    rule: int | None


@dataclass(slots=True)
class ChangeCounts:
    """Counts of decisions, and of changed ones, for a requester, an item or in total."""

    total: int = 0
    allowed_to_denied: int = 0
    denied_to_allowed: int = 0

    @property
    def changed(self) -> int:
        return self.allowed_to_denied + self.denied_to_allowed


@dataclass(slots=True)
class ReplayTotals:
    overall: ChangeCounts = field(default_factory=ChangeCounts)
    reason_changed: int = 0  # denied before and after, with different reasons
    reasons_before: Counter[str] = field(default_factory=Counter)
    reasons_after: Counter[str] = field(default_factory=Counter)
    by_requester: dict[str, ChangeCounts] = field(default_factory=dict)
    by_content: dict[RawId, ChangeCounts] = field(default_factory=dict)
    newly_denied: deque[Change] = field(default_factory=lambda: deque(maxlen=MAX_EXAMPLES))  # the newest
    newly_allowed: deque[Change] = field(default_factory=lambda: deque(maxlen=MAX_EXAMPLES))


class WindowCount(NamedTuple):
    """The allowed checks of a rate-limit window."""

    begin: int
    used: int


class Replay:
    """Replays decisions from old to new; `tally` sums up those since `start`.

    Earlier decisions only fill rate-limit windows. Memory grows with the number of requesters and items, not of
    decisions.
    """

    def __init__(self, policy: CompiledPolicy, start: datetime) -> None:
        self.policy = policy
        self.start = start
        self.tally = ReplayTotals()
        self.counts: dict[tuple[bytes, str], WindowCount] = {}  # by counter and requester

    def replay(self, past: RecordedDecision) -> Change | None:
        """Count the decision. Returns the change if it would switch between allowed and denied; otherwise None."""
        decision = judge(self.policy, past.facts)  # as if the policy were enforced
        shortfall = past.facts.shortfall
        if shortfall is not None and falls_short(decision, shortfall):
            decision = build_unpaid_denial(decision, shortfall)
        allowed = decision.allowed
        reason = decision.reason
        rule = decision.rule
        if allowed and rule is not None and rule.rate_limit is not None and not self.consume(rule, past):
            allowed = False
            reason = Reason.RATE_LIMIT_EXCEEDED
        if past.facts.now < self.start:
            return None
        return self.count(Change(past, allowed, reason, rule.index if rule else None))

    def consume(self, rule: Rule, past: RecordedDecision) -> bool:
        """Count the request on the rule's rate limit if it has room for the requester; return whether it has."""
        limit = effective_limit(rule, past.facts)
        key = (counter_key(rule, past.facts), past.facts.requester_id)
        assert limit is not None  # noqa: S101 - narrows the type
        begin = limit_window(limit.period, past.facts.now).begin
        if self.used_since(key, begin) >= limit.requests:
            return False
        self.counts[key] = WindowCount(begin, self.used_since(key, begin) + 1)
        if past.facts.new_visitor_id is not None and counts_visitor(rule, past.facts):
            # the access that brought a cookie counts for it, too
            key = (counter_of_visitor(rule, past.facts.new_visitor_id), past.facts.requester_id)
            self.counts[key] = WindowCount(begin, self.used_since(key, begin) + 1)
        return True

    def used_since(self, key: tuple[bytes, str], begin: int) -> int:
        """Return the count of the window that begins at `begin`."""
        count = self.counts.get(key)
        return count.used if count is not None and count.begin == begin else 0

    def count(self, change: Change) -> Change | None:
        tally = self.tally
        past = change.past
        of_requester = tally.by_requester.setdefault(past.facts.requester_id, ChangeCounts())
        of_content = tally.by_content.setdefault(past.content, ChangeCounts())
        all_counts = (tally.overall, of_requester, of_content)
        for counts in all_counts:
            counts.total += 1
        if past.reason is not None:
            tally.reasons_before[past.reason] += 1
        if change.reason is not None:
            tally.reasons_after[change.reason] += 1
        if past.allowed == change.allowed:
            if past.reason != change.reason:
                tally.reason_changed += 1
            return None
        if past.allowed:
            tally.newly_denied.append(change)
            for counts in all_counts:
                counts.allowed_to_denied += 1
        else:
            tally.newly_allowed.append(change)
            for counts in all_counts:
                counts.denied_to_allowed += 1
        return change


def most_changed(counts_by_key: dict[K, ChangeCounts]) -> list[tuple[K, ChangeCounts]]:
    """Return the ten keys with most changed decisions, without those that have none."""
    changed = [(key, counts) for key, counts in counts_by_key.items() if counts.changed]
    return sorted(changed, key=lambda pair: (-pair[1].changed, pair[0]))[:MAX_ROWS]


def earliest_window(policy: CompiledPolicy, start: datetime) -> datetime:
    """Return the start of the policy's earliest rate-limit window that is open at `start`."""
    limits = [rule.rate_limit for rule in policy.rules if rule.rate_limit is not None]
    begins = [limit_window(limit.period, start).begin for limit in limits]
    return min([start, *(datetime.fromtimestamp(begin, start.tzinfo) for begin in begins)])
