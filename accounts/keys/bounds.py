"""Limits for keys that create or change keys: no more permissions or requests, no later expiry, no other addresses.

A key may have a rate limit of its own, below the limits of its account's plan.
"""

import re
from collections.abc import Iterable
from datetime import datetime
from ipaddress import ip_network
from typing import TypedDict

from accounts.keys.models import ApiKey
from accounts.keys.permissions import NEVER_PUBLIC, allows
from kit.http.errors import InsufficientPermissions, ValidationFailed
from kit.values.networks import lies_within, merge_networks
from kit.values.timestamps import render_timestamp

SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
PERIODS = tuple(SECONDS)
MAX_REQUESTS = 1_000_000_000
match_rate_limit = re.compile(r"([0-9]{1,10}) ?(?:/|a|an|per) ?(minute|hour|day)").fullmatch


class RateLimit(TypedDict):
    """At most `requests` per `period`: the UTC minute, hour or day."""

    requests: int
    period: str


def rate_limit_window(rate_limit: RateLimit | None) -> tuple[int, int] | None:
    """Return a limit as requests and seconds; None without one."""
    return None if rate_limit is None else (rate_limit["requests"], SECONDS[rate_limit["period"]])


def check_below_plan(rate_limit: RateLimit | None, limits: tuple[int, int]) -> None:
    """Raise ValidationFailed unless the limit is below the plan's requests per minute and day."""
    if rate_limit is None:
        return
    per_minute, per_day = limits
    seconds = SECONDS[rate_limit["period"]]
    of_plan = min(per_minute * (seconds // 60), per_day)
    if rate_limit["requests"] >= of_plan:
        plan_limit = describe_rate_limit({**rate_limit, "requests": of_plan})
        raise ValidationFailed(
            f"Must be below the plan's limit of {plan_limit}. Without `rateLimit`, only the plan limits the key.",
            param="rateLimit.requests",
        )


def allows_no_more(rate_limit: RateLimit | None, other: RateLimit | None) -> bool:
    """Whether whatever a limit allows, the other one allows too. No limit allows everything."""
    if other is None:
        return True
    if rate_limit is None:
        return False
    seconds, seconds_of_other = SECONDS[rate_limit["period"]], SECONDS[other["period"]]
    # All requests of a longer window may come within one of the other's windows.
    times = max(seconds_of_other // seconds, 1)
    return rate_limit["requests"] * times <= other["requests"]


def parse_rate_limit(text: str) -> RateLimit:
    """Read a limit as people write it: 20/minute, 500 an hour. Raises ValueError."""
    match = match_rate_limit(text.strip())
    if match is None:
        raise ValueError("Must be a number and a period: 20/minute, 500/hour or 5000/day.")
    return {"requests": int(match[1]), "period": match[2]}


def describe_rate_limit(rate_limit: RateLimit | None) -> str:
    if rate_limit is None:
        return "the plan's alone"
    return f"{rate_limit['requests']} {'an' if rate_limit['period'] == 'hour' else 'a'} {rate_limit['period']}"


class Bounds(TypedDict, total=False):
    """Where, how often and until when a key works:

    CIDR networks ([] means anywhere), hosts that it may ask about at the edge ([] means any), its rate limit (None
    means the plan's alone), and its expiry (None means never).
    """

    allowed_ips: list[str]
    allowed_hosts: list[str]
    rate_limit: RateLimit | None
    expires_at: datetime | None


def key_bounds(key: ApiKey) -> Bounds:
    return {
        "allowed_ips": key.allowed_ips,
        "allowed_hosts": key.allowed_hosts,
        "rate_limit": key.rate_limit,
        "expires_at": key.expires_at,
    }


def check_no_more_than(creator: ApiKey, permissions: Iterable[str], bounds: Bounds) -> None:
    """Raise InsufficientPermissions if a key would have more permissions, life, addresses, hosts or requests than
    its creator.
    """
    for permission in permissions:
        if not allows(frozenset(creator.permissions), permission):
            raise InsufficientPermissions(f"A key cannot grant {permission}, which it lacks itself.")
    end = bounds["expires_at"]
    if creator.expires_at is not None and (end is None or end > creator.expires_at):
        raise InsufficientPermissions(
            f"A key cannot let another one outlive it. It expires at {render_timestamp(creator.expires_at)}.",
            param="expiresAt",
        )
    if not lie_within(bounds["allowed_ips"], creator.allowed_ips):
        raise InsufficientPermissions(
            "A key cannot let another one work from addresses outside its own allowlist.", param="allowedIps"
        )
    if not are_within(bounds["allowed_hosts"], creator.allowed_hosts):
        raise InsufficientPermissions(
            "A key cannot let another one ask about hosts outside its own `allowedHosts`.", param="allowedHosts"
        )
    if not allows_no_more(bounds["rate_limit"], creator.rate_limit):
        own = describe_rate_limit(creator.rate_limit)
        raise InsufficientPermissions(
            f"A key cannot give another one a higher rate limit than its own: {own}.", param="rateLimit"
        )


def lie_within(allowed: list[str], given: list[str]) -> bool:
    """Whether one allowlist lies within the other; an empty list means all addresses."""
    if not given:
        return True
    networks = merge_networks(ip_network(text) for text in given)
    return bool(allowed) and all(lies_within(ip_network(text), networks) for text in allowed)


def are_within(allowed: list[str], given: list[str]) -> bool:
    """Whether one list of hosts lies within the other; an empty list means all hosts."""
    return not given or (bool(allowed) and set(allowed) <= set(given))


def check_permissions_of_type(key_type: str, permissions: list[str]) -> None:
    if key_type == "public":
        for index, permission in enumerate(permissions):
            if not permission.endswith(":read") or permission in NEVER_PUBLIC:
                raise ValidationFailed(
                    f"A public key can only read: it cannot have {permission}.", param=f"permissions[{index}]"
                )


def check_may_change(changer: ApiKey, key: ApiKey, now: Bounds) -> None:
    """Raise InsufficientPermissions if a change gives the key more than the changing key may give."""
    former_bounds, changer_bounds = key_bounds(key), key_bounds(changer)
    if is_wider(now, former_bounds):
        check_no_more_than(changer, key.permissions, now)
        return
    check_no_more_than(
        changer,
        [],
        {
            "allowed_ips": (changer_bounds if now["allowed_ips"] == former_bounds["allowed_ips"] else now)[
                "allowed_ips"
            ],
            "allowed_hosts": (changer_bounds if now["allowed_hosts"] == former_bounds["allowed_hosts"] else now)[
                "allowed_hosts"
            ],
            "rate_limit": (changer_bounds if now["rate_limit"] == former_bounds["rate_limit"] else now)["rate_limit"],
            "expires_at": (changer_bounds if now["expires_at"] == former_bounds["expires_at"] else now)["expires_at"],
        },
    )


def is_wider(now: Bounds, before: Bounds) -> bool:
    """Whether the key would work longer, more often, from more addresses or for more hosts than before."""
    end = now["expires_at"]
    old = before["expires_at"]
    lasts_longer = old is not None and (end is None or end > old)
    return (
        lasts_longer
        or not lie_within(now["allowed_ips"], before["allowed_ips"])
        or not are_within(now["allowed_hosts"], before["allowed_hosts"])
        or not allows_no_more(now["rate_limit"], before["rate_limit"])
    )
