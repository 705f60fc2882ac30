"""Limits that are used up, or nearly so, queued to become events (accounts.limits.events).

Noting one neither waits nor asks, so requests may do it. Each process notes a window's share once, as long as it
remembers; the database keeps it from being announced twice.
"""

from collections import deque
from hashlib import blake2b

from msgspec import Struct

MOST_WAITING = 10_000
MOST_REMEMBERED = 100_000


class Reached(Struct, frozen=True):
    """`key` names limit, window and share; `object_id` is that of the account or policy; `ends` in Unix seconds."""

    key: str
    account_id: str
    object_id: str
    ends: int
    data: dict[str, object]


noted: set[tuple[object, ...]] = set()
waiting: deque[Reached] = deque(maxlen=MOST_WAITING)


def is_new(*key: object) -> bool:
    """Whether that share of that window is new to this process, which notes it."""
    if key in noted:
        return False
    if len(noted) >= MOST_REMEMBERED:
        noted.clear()
    noted.add(key)
    return True


def note_plan(account_id: str, seconds: int, limit: int, used: int, now: int) -> None:
    """Call it when at least four fifths of a plan's limit are used."""
    percent = 100 if used >= limit else 80
    window = now // seconds
    if is_new(account_id, seconds, window, percent):
        ends, period = (window + 1) * seconds, "day" if seconds > 60 else "minute"
        data = limit_data("plan", percent, limit, used, period, ends)
        waiting.append(Reached(f"{account_id} {period} {ends} {percent}", account_id, account_id, ends, data))


def note_rule(
    account_id: str,
    policy_id: str,
    rule: tuple[bytes, int],
    limit: tuple[int, str],
    ends: int,
    requester: dict[str, str | None],
) -> None:
    """To be called once `is_new`, where a requester has nothing left of a rule's limit, as in (100, "hour"). `rule` is
    its fingerprint and its index."""
    fingerprint, index = rule
    who = blake2b(str(requester["id"]).encode(), digest_size=16).hexdigest()
    requests, period = limit
    data = limit_data("rule", 100, requests, requests, period, ends)
    data |= {"policyId": policy_id, "ruleIndex": index, "requester": requester}
    waiting.append(Reached(f"{policy_id} {fingerprint.hex()} {who} {ends}", account_id, policy_id, ends, data))


def limit_data(scope: str, percent: int, limit: int, used: int, period: str, ends: int) -> dict[str, object]:
    """The event's object."""
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
