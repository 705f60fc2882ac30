"""Rate limits of rules, counted per rule and requester. The recorder counts them together with the decisions.

Rate limits are licence terms, so the count is in the database: exact over all processes, durable, and unaffected by
decisions that were not recorded.
"""

from datetime import UTC, datetime, timedelta

from accounts.limits.reached import is_new, note_rule
from analytics.models import RuleUsage
from kit.values import ids
from licensing.policies.decision import CompiledPolicy
from licensing.policies.rules import RateLimit, Rule

LENGTHS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 7 * 86_400}  # seconds
FIRST_MONDAY = 4 * 86_400  # 1970-01-05, in Unix seconds


def window(period: str, now: datetime) -> tuple[int, int]:
    """Return begin and end of the current window in Unix seconds.

    Windows are UTC seconds, minutes, hours, days, weeks (from Monday) or calendar months.
    """
    if period == "month":
        begin = now.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        end = (begin + timedelta(days=31)).replace(day=1)
        return int(begin.timestamp()), int(end.timestamp())
    length, offset = LENGTHS[period], FIRST_MONDAY if period == "week" else 0
    moment = int(now.timestamp()) - offset
    return moment - moment % length + offset, moment - moment % length + offset + length


def room(policy_id: str | None, fingerprint: bytes, limit: RateLimit, requester: int | None, now: datetime) -> int:
    """Return how many more requests the limit allows in the current window.

    New requesters and proposed policies have the full limit.
    """
    begin, _ = window(limit.period, now)
    if requester is None or policy_id is None:
        return limit.requests
    counted = RuleUsage.objects.filter(requester_id=requester, policy_id=policy_id, rule=fingerprint).first()
    used = counted.used if counted is not None and counted.window_start >= begin else 0
    return max(limit.requests - used, 0)


def note_used_up(
    account: str, policy: CompiledPolicy | None, rule: Rule | None, reset: int | None, counted: tuple[str, str | None]
) -> None:
    """Emit the event of a rule's limit that is used up until `reset` (Unix seconds).

    `account` is a UUID in hex. `counted` is the requester's (id, name or None).
    """
    if rule is None or rule.rate_limit is None or policy is None or policy.id is None or reset is None:
        return
    requester_id, name = counted
    if is_new(policy.id, rule.fingerprint, requester_id, reset):
        note_rule(
            ids.encode("acc", bytes.fromhex(account)),
            policy.id,
            (rule.fingerprint, rule.index),
            (rule.rate_limit.requests, str(rule.rate_limit.period)),
            reset,
            {"id": requester_id, "name": name},
        )
