"""Compute how long an answer may be cached: until a schedule, a date or a licence's end changes it."""

from bisect import bisect_right
from datetime import datetime

from kit.hot_settings import hot_setting
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.decision import Decision, Reason
from licensing.policies.facts import Facts

LEAST_TOKEN_SECONDS = 5  # for answers that may not be cached: enough to deliver the token to its verifier


def next_change(policy: CompiledPolicy | None, facts: Facts) -> datetime | None:
    """Return when time alone may change the answer: a schedule or time condition, or the end of a licence."""
    boundaries, schedules = (policy.boundaries, policy.schedules) if policy else ((), ())
    if not boundaries and not schedules and not facts.licenses:
        return None
    ends = [held.expires_at for held in facts.licenses if held.expires_at is not None]
    if boundaries:
        ends += boundaries[bisect_right(boundaries, facts.now) :][:1]
    for next_change_of in schedules:
        if (change := next_change_of(facts.now)) is not None:
            ends.append(change)
    return min(ends) if ends else None


def seconds_until_change(policy: CompiledPolicy | None, facts: Facts, most: int) -> int:
    """Return whole seconds until the answer may change, from 0 to `most`."""
    end = next_change(policy, facts)
    return most if end is None else max(0, min(most, int((end - facts.now).total_seconds())))


def is_counted(decision: Decision) -> bool:
    """Return whether each access counts, because it has a price or its rule a rate limit."""
    rule = decision.rule
    if rule is not None and rule.rate_limit is not None and decision.reason in (None, Reason.RATE_LIMIT_EXCEEDED):
        return True
    return decision.price is not None


def cache_seconds(decision: Decision, policy: CompiledPolicy | None, facts: Facts, *, spends: bool) -> int:
    """Return how long the answer may be cached; 0 if each access must be checked. `spends`: whether a wallet pays."""
    if spends or is_counted(decision):
        return 0
    return seconds_until_change(policy, facts, hot_setting("DECISION_CACHE_SECONDS"))


def token_seconds(decision: Decision, policy: CompiledPolicy | None, facts: Facts, *, spends: bool) -> int:
    """Return how long the answer's token is valid: its cache lifetime, or the time to deliver it."""
    seconds = cache_seconds(decision, policy, facts, spends=spends)
    return seconds or max(1, seconds_until_change(policy, facts, LEAST_TOKEN_SECONDS))
