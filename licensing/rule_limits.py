"""A rule's rate limit: counted per rule and requester in the database, for it is a licence term (contract §9.5).

The rows are locked in one order and written in the transaction that records the decisions, so the count is exact over
all processes, survives what Redis does not, and nothing is consumed by a decision that was not recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from licensing.models import RuleUsage
from licensing.rules import RateLimit

LENGTHS = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
FIRST_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


def window(period: str, now: datetime) -> tuple[int, int]:
    """Begin and end of the UTC second, minute, hour, day, week (from Monday) or calendar month, in Unix seconds."""
    if period == "month":
        begin = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        end = (begin + timedelta(days=31)).replace(day=1)
    else:
        begin = now - (now - FIRST_MONDAY) % LENGTHS[period]
        end = begin + LENGTHS[period]
    return int(begin.timestamp()), int(end.timestamp())


@dataclass(frozen=True, slots=True)
class Claim:
    """A request to count once against a rule's limit; with `cost` 0, only to look."""

    policy_id: str
    fingerprint: bytes
    requester: int | None  # primary key; None for one that has never been seen
    limit: RateLimit
    now: datetime
    cost: int = 1


@dataclass(frozen=True, slots=True)
class RateState:
    allowed: bool
    remaining: int
    reset: int  # Unix seconds


def settle(claims: Sequence[Claim]) -> list[RateState]:
    """Counts each claim that still has room, in the order given. Call it inside a transaction."""
    rows = lock_rows(claims)
    states = []
    for claim in claims:
        begin, end = window(claim.limit.period, claim.now)
        row = rows.get((claim.requester, claim.policy_id, claim.fingerprint)) or RuleUsage()
        if begin > row.window_start:
            row.window_start, row.used = begin, 0
        room = claim.limit.requests - row.used
        allowed = room > 0
        if allowed:
            row.used += claim.cost
        states.append(RateState(allowed, max(room - claim.cost, 0), end))
    RuleUsage.objects.bulk_update([row for row in rows.values() if row.pk], ["window_start", "used"])
    return states


def lock_rows(claims: Sequence[Claim]) -> dict[tuple[int | None, str, bytes], RuleUsage]:
    wanted = sorted({(claim.requester, claim.policy_id, claim.fingerprint) for claim in claims if claim.requester})
    counted = {
        (claim.requester, claim.policy_id, claim.fingerprint) for claim in claims if claim.requester and claim.cost
    }
    missing = [
        RuleUsage(requester_id=requester, policy_id=policy, rule=rule)
        for requester, policy, rule in wanted
        if (requester, policy, rule) in counted
    ]
    RuleUsage.objects.bulk_create(missing, ignore_conflicts=True)
    which = Q()
    for requester, policy, rule in wanted:
        which |= Q(requester_id=requester, policy_id=policy, rule=rule)
    if not which:
        return {}
    rows = RuleUsage.objects.filter(which).order_by("requester_id", "policy_id", "rule").select_for_update()
    return {(row.requester_id, row.policy_id, bytes(row.rule)): row for row in rows}
