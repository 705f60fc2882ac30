"""Computes how a policy would have decided past checks, one recorded decision at a time. Needs no database.

Counts rate limits like the service: per rule and requester or visitor, in order of time, only for allowed checks. A
window that began before the first decision starts at zero. Wallets deny what they denied then, unless the policy makes
the access affordable; nothing is spent.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from kit.values.ids import RawId
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Reason, falls_short, judge, unpaid
from licensing.policies.facts import Facts
from licensing.policies.rate_limits import counter_key, counter_of_visitor, counts_visitor, effective_limit, window
from licensing.policies.rules import Rule

EXAMPLES = 5  # of each kind
TOP = 10
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Past:
    """A recorded decision; ids are the database's raw values."""

    id: RawId
    content: RawId
    allowed: bool
    reason: str | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that would change, and the index of the deciding rule (None for the default action)."""

    past: Past
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
    moved: ChangeCounts = field(default_factory=ChangeCounts)
    reason_changed: int = 0  # denied before and after, with different reasons
    reasons_before: Counter[str] = field(default_factory=Counter)
    reasons_after: Counter[str] = field(default_factory=Counter)
    by_requester: dict[str, ChangeCounts] = field(default_factory=dict)
    by_content: dict[RawId, ChangeCounts] = field(default_factory=dict)
    newly_denied: deque[Change] = field(default_factory=lambda: deque(maxlen=EXAMPLES))  # the newest
    newly_allowed: deque[Change] = field(default_factory=lambda: deque(maxlen=EXAMPLES))


class Replay:
    """Replays decisions from old to new; `tally` sums up those since `start`.

    Earlier decisions only fill rate-limit windows. Memory grows with the number of requesters and items, not of
    decisions.
    """

    def __init__(self, policy: CompiledPolicy, start: datetime) -> None:
        self.policy = policy
        self.start = start
        self.tally = ReplayTotals()
        self.used: dict[tuple[bytes, str], tuple[int, int]] = {}  # start of the window and the count in it

    def see(self, past: Past) -> Change | None:
        """Count the decision. Returns the change if it would switch between allowed and denied; otherwise None."""
        decision = judge(self.policy, past.facts)  # as if the policy were enforced
        shortfall = past.facts.shortfall
        if shortfall is not None and falls_short(decision, shortfall):
            decision = unpaid(decision, shortfall)
        allowed = decision.allowed
        reason = decision.reason
        rule = decision.rule
        if allowed and rule is not None and rule.rate_limit is not None and not self.takes(rule, past):
            allowed = False
            reason = Reason.RATE_LIMIT_EXCEEDED
        if past.facts.now < self.start:
            return None
        return self.count(Change(past, allowed, reason, rule.index if rule else None))

    def takes(self, rule: Rule, past: Past) -> bool:
        """Whether the rule's rate limit has room for the requester. Counts the request if so."""
        limit = effective_limit(rule, past.facts)
        key = (counter_key(rule, past.facts), past.facts.requester_id)
        assert limit is not None  # noqa: S101 - says so to the type checker
        begin, _ = window(limit.period, past.facts.now)
        since, used = self.used.get(key, (begin, 0))
        if begin > since:
            since = begin
            used = 0
        if used >= limit.requests:
            return False
        self.used[key] = since, used + 1
        if past.facts.new_visitor_id is not None and counts_visitor(rule, past.facts):
            # the access that brought a cookie counts for it, too
            key = counter_of_visitor(rule, past.facts.new_visitor_id), past.facts.requester_id
            since, used = self.used.get(key, (begin, 0))
            self.used[key] = begin, used + 1 if since == begin else 1
        return True

    def count(self, now: Change) -> Change | None:
        tally = self.tally
        past = now.past
        of_requester = tally.by_requester.setdefault(past.facts.requester_id, ChangeCounts())
        of_content = tally.by_content.setdefault(past.content, ChangeCounts())
        everyone = (tally.moved, of_requester, of_content)
        for moved in everyone:
            moved.total += 1
        if past.reason is not None:
            tally.reasons_before[past.reason] += 1
        if now.reason is not None:
            tally.reasons_after[now.reason] += 1
        if past.allowed == now.allowed:
            tally.reason_changed += past.reason != now.reason
            return None
        for moved in everyone:
            if past.allowed:
                moved.allowed_to_denied += 1
            else:
                moved.denied_to_allowed += 1
        (tally.newly_denied if past.allowed else tally.newly_allowed).append(now)
        return now


def most_changed(moved: dict[K, ChangeCounts]) -> list[tuple[K, ChangeCounts]]:
    """Return the ten keys with most changed decisions, without those that have none."""
    changed = [(key, counts) for key, counts in moved.items() if counts.changed]
    return sorted(changed, key=lambda pair: (-pair[1].changed, pair[0]))[:TOP]


def earliest_window(policy: CompiledPolicy, start: datetime) -> datetime:
    """Return the start of the policy's earliest rate-limit window that is open at `start`."""
    begins = [window(rule.rate_limit.period, start)[0] for rule in policy.rules if rule.rate_limit is not None]
    return min([start, *(datetime.fromtimestamp(begin, start.tzinfo) for begin in begins)])
