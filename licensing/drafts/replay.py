"""What a policy would have answered to past checks: a pure computation, one recorded decision at a time.

Rate limits are counted as the service counts them: per rule and requester, in the order of time, on allow only. The
count of a window that had begun before the first decision seen starts from nothing. A wallet denies what it denied
then, unless the policy makes the access cheaper than what the wallet had; nothing is spent.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from kit.values.ids import RawId
from licensing.policies.decision import CompiledPolicy, Reason, falls_short, judge, unpaid
from licensing.policies.facts import Facts
from licensing.policies.rate_limits import window
from licensing.policies.rules import Rule

EXAMPLES = 5  # of each kind
TOP = 10
K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Past:
    """A recorded decision; itself and its item by the raw ids of the database."""

    id: RawId
    content: RawId
    allowed: bool
    reason: str | None
    facts: Facts


@dataclass(frozen=True, slots=True)
class Change:
    """A decision that would be another, and the rule (by index, None for the default action) that would make it so."""

    past: Past
    allowed: bool
    reason: str | None
    rule: int | None


@dataclass(slots=True)
class Moved:
    """How many decisions of one requester, or about one item, there are, and how many would be others."""

    total: int = 0
    allowed_to_denied: int = 0
    denied_to_allowed: int = 0

    @property
    def changed(self) -> int:
        return self.allowed_to_denied + self.denied_to_allowed


@dataclass(slots=True)
class ReplayTotals:
    moved: Moved = field(default_factory=Moved)
    reason_changed: int = 0  # denied before and after, for another reason
    reasons_before: Counter[str] = field(default_factory=Counter)
    reasons_after: Counter[str] = field(default_factory=Counter)
    by_requester: dict[str, Moved] = field(default_factory=dict)
    by_content: dict[RawId, Moved] = field(default_factory=dict)
    newly_denied: deque[Change] = field(default_factory=lambda: deque(maxlen=EXAMPLES))  # the newest
    newly_allowed: deque[Change] = field(default_factory=lambda: deque(maxlen=EXAMPLES))


class Replay:
    """Feed it decisions from old to new; `tally` has what those since `start` add up to.

    Earlier ones only fill the windows of rate limits. Memory grows with the requesters and items, not the decisions.
    """

    def __init__(self, policy: CompiledPolicy, start: datetime) -> None:
        self.policy = policy
        self.start = start
        self.tally = ReplayTotals()
        self.used: dict[tuple[bytes, str], tuple[int, int]] = {}  # the window's begin, and how often in it

    def see(self, past: Past) -> Change | None:
        """Counts the decision; returns what it would be, if allowed instead of denied or the reverse."""
        decision = judge(self.policy, past.facts)  # as if it were enforced
        shortfall = past.facts.shortfall
        if shortfall is not None and falls_short(decision, shortfall):
            decision = unpaid(decision, shortfall)
        allowed, reason, rule = decision.allowed, decision.reason, decision.rule
        if allowed and rule is not None and rule.rate_limit is not None and not self.takes(rule, past):
            allowed, reason = False, Reason.RATE_LIMIT_EXCEEDED
        if past.facts.now < self.start:
            return None
        return self.count(Change(past, allowed, reason, rule.index if rule else None))

    def takes(self, rule: Rule, past: Past) -> bool:
        """Whether the rule's limit has room for the requester; if so, it has less from now on."""
        limit, key = rule.rate_limit, (rule.fingerprint, past.facts.requester_id)
        assert limit is not None  # noqa: S101 - says so to the type checker
        begin, _ = window(limit.period, past.facts.now)
        since, used = self.used.get(key, (begin, 0))
        if begin > since:
            since, used = begin, 0
        if used >= limit.requests:
            return False
        self.used[key] = since, used + 1
        return True

    def count(self, now: Change) -> Change | None:
        tally, past = self.tally, now.past
        of_requester = tally.by_requester.setdefault(past.facts.requester_id, Moved())
        of_content = tally.by_content.setdefault(past.content, Moved())
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


def most_changed(moved: dict[K, Moved]) -> list[tuple[K, Moved]]:
    """The ten with the most decisions that would be others; those without any are left out."""
    changed = [(key, one) for key, one in moved.items() if one.changed]
    return sorted(changed, key=lambda pair: (-pair[1].changed, pair[0]))[:TOP]


def earliest_window(policy: CompiledPolicy, start: datetime) -> datetime:
    """When the longest of the policy's rate limits that are under way at `start` began to be counted."""
    begins = [window(rule.rate_limit.period, start)[0] for rule in policy.rules if rule.rate_limit is not None]
    return min([start, *(datetime.fromtimestamp(begin, start.tzinfo) for begin in begins)])
