"""A queue of limits that are (nearly) used up, later written as events (accounts.limits.events).

Queueing never waits, so requests may do it. Each process queues a share of a window once, as far as it remembers; the
database prevents duplicate events.
"""

from collections import deque
from hashlib import blake2b

from msgspec import Struct

MOST_WAITING = 10_000
MOST_REMEMBERED = 100_000
PLAN, EDGE = "plan", "edge"  # scopes of an account's limits


class UsedUpLimit(Struct, frozen=True):
    """A used-up limit.

    `key` names limit, window and share; `object_id` is the account's or policy's; `ends` is in Unix seconds.
    `requester_id` is set if the limit is a requester's.
    """

    key: str
    account_id: str
    object_id: str
    ends: int
    data: dict[str, object]
    requester_id: str | None = None


noted: set[tuple[object, ...]] = set()
waiting: deque[UsedUpLimit] = deque(maxlen=MOST_WAITING)


def is_new(*key: object) -> bool:
    """Whether this process sees the key for the first time; remembers it."""
    if key in noted:
        return False
    if len(noted) >= MOST_REMEMBERED:
        noted.clear()
    noted.add(key)
    return True


def note_plan(scope: str, account_id: str, seconds: int, limit: int, used: int, now: int) -> None:
    """Queue an event for a plan's limit, or its meter at the edge. Call it when at least four fifths are used."""
    percent = 100 if used >= limit else 80
    window = now // seconds
    if is_new(scope, account_id, seconds, window, percent):
        ends, period = (window + 1) * seconds, "day" if seconds > 60 else "minute"
        data = limit_data(scope, percent, limit, used, period, ends)
        at_edge = "" if scope == PLAN else f" {scope}"
        waiting.append(
            UsedUpLimit(f"{account_id}{at_edge} {period} {ends} {percent}", account_id, account_id, ends, data)
        )


def note_rule(
    account_id: str,
    policy_id: str,
    rule: tuple[bytes, int],
    limit: tuple[int, str],
    ends: int,
    requester_id: str,
) -> None:
    """Queue an event for a requester that has used up a rule's limit, such as (100, "hour"). Call it if `is_new`.

    `rule` is the rule's fingerprint and index.
    """
    fingerprint, index = rule
    who = blake2b(requester_id.encode(), digest_size=16).hexdigest()
    requests, period = limit
    data = limit_data("rule", 100, requests, requests, period, ends)
    data |= {"policyId": policy_id, "ruleIndex": index}
    key = f"{policy_id} {fingerprint.hex()} {who} {ends}"
    waiting.append(UsedUpLimit(key, account_id, policy_id, ends, data, requester_id))


def limit_data(scope: str, percent: int, limit: int, used: int, period: str, ends: int) -> dict[str, object]:
    """Build the event's object."""
    return {
        "object": "limit",
        "scope": scope,
        "percent": percent,
        "limit": limit,
        "used": used,
        "period": period,
        "reset": ends,
        "policyId": None,
        "ruleIndex": None,
        "requester": None,
    }
