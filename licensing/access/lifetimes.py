"""How long an answer may be kept: until the facts that it stands on change by themselves."""

from bisect import bisect_right
from datetime import datetime

from django.conf import settings

from licensing.access.decisions import Answer
from licensing.policies.decision import Reason

LEAST_TOKEN_SECONDS = 5  # of one whose answer is not to be kept: enough to be carried to who verifies it


def next_change(answer: Answer) -> datetime | None:
    """When time alone may change the answer: a `before` or `after` of its policy, or the end of a licence."""
    now = answer.facts.now
    ends = [held.expires_at for held in answer.facts.licenses if held.expires_at is not None]
    boundaries = answer.policy.boundaries if answer.policy else ()
    if boundaries:
        ends += boundaries[bisect_right(boundaries, now) :][:1]
    return min(ends) if ends else None


def seconds_until_change(answer: Answer, most: int) -> int:
    """Whole seconds, from 0 to `most`."""
    end = next_change(answer)
    return most if end is None else max(0, min(most, int((end - answer.facts.now).total_seconds())))


def is_counted(answer: Answer) -> bool:
    """Whether each access counts: it has a price, or its rule a limit."""
    rule, reason = answer.decision.rule, answer.decision.reason
    is_limited = rule is not None and rule.rate_limit is not None
    return answer.decision.price is not None or (is_limited and reason in (None, Reason.RATE_LIMIT_EXCEEDED))


def cache_seconds(answer: Answer) -> int:
    """How long the answer may be kept; 0 where each access is to be checked."""
    if answer.dry_run or is_counted(answer):
        return 0
    return seconds_until_change(answer, settings.DECISION_CACHE_SECONDS)


def token_seconds(answer: Answer) -> int:
    """How long the answer's token is valid: as long as it may be kept, otherwise as long as delivering it takes."""
    return cache_seconds(answer) or max(1, seconds_until_change(answer, LEAST_TOKEN_SECONDS))
