"""A rule's rate limit: counted per rule and requester by the recorder, with the decisions themselves.

It is a licence term: the count is in the database, so it is exact over all processes, survives what Redis does not,
and nothing is consumed by a decision that was not recorded.
"""

from datetime import UTC, datetime, timedelta

from analytics.models import RuleUsage
from licensing.policies.rules import RateLimit

LENGTHS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}  # seconds
FIRST_MONDAY = 4 * 86_400  # 1970-01-05, in Unix seconds


def window(period: str, now: datetime) -> tuple[int, int]:
    """Begin and end of the UTC second, minute, hour, day, week (from Monday) or calendar month, in Unix seconds."""
    if period == "month":
        begin = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        end = (begin + timedelta(days=31)).replace(day=1)
        return int(begin.timestamp()), int(end.timestamp())
    length, offset = LENGTHS[period], FIRST_MONDAY if period == "week" else 0
    moment = int(now.timestamp()) - offset
    return moment - moment % length + offset, moment - moment % length + offset + length


def room(policy_id: str | None, fingerprint: bytes, limit: RateLimit, requester: int | None, now: datetime) -> int:
    """How often the requester could still be allowed in the window under way; new ones and new policies: always."""
    begin, _ = window(limit.period, now)
    if requester is None or policy_id is None:
        return limit.requests
    counted = RuleUsage.objects.filter(requester_id=requester, policy_id=policy_id, rule=fingerprint).first()
    used = counted.used if counted is not None and counted.window_start >= begin else 0
    return max(limit.requests - used, 0)
