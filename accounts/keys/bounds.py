"""Limits for keys that create or change keys: no more permissions or requests, no later expiry, no other addresses.

A key may have a rate limit of its own, below the limits of its account's plan.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from ipaddress import ip_network
from typing import TypedDict, cast

from accounts.keys.models import ALL, ApiKey
from accounts.keys.permissions import NEVER_PUBLIC
from kit.http.errors import InsufficientPermissions, ValidationFailed
from kit.values.networks import lies_within, merge_networks
from kit.values.timestamps import render_timestamp

PERIOD_SECONDS = {"minute": 60, "hour": 3_600, "day": 86_400}
PERIODS = tuple(PERIOD_SECONDS)
MAX_REQUESTS = 1_000_000_000
match_rate_limit = re.compile(r"([0-9]{1,10}) ?(?:/|a|an|per) ?(minute|hour|day)").fullmatch


class RateLimit(TypedDict):
    """At most `requests` per `period`: the UTC minute, hour or day."""

    requests: int
    period: str


def rate_limit_window(rate_limit: RateLimit | None) -> tuple[int, int] | None:
    """Return a limit as requests and seconds; None without one."""
    return None if rate_limit is None else (rate_limit["requests"], PERIOD_SECONDS[rate_limit["period"]])


def check_below_plan(rate_limit: RateLimit | None, limits: tuple[int, int]) -> None:
    """Raise ValidationFailed unless the limit is below the plan's requests per minute and day."""
    if rate_limit is None:
        return
    per_minute, per_day = limits
    seconds = PERIOD_SECONDS[rate_limit["period"]]
    plan_requests = min(per_minute * (seconds // 60), per_day)
    if rate_limit["requests"] >= plan_requests:
        plan_limit = describe_rate_limit({**rate_limit, "requests": plan_requests})
        raise ValidationFailed(
            f"Must be below the plan's limit of {plan_limit}. Without `rateLimit`, only the plan limits the key.",
            param="rateLimit.requests",
        )


def is_no_higher(rate_limit: RateLimit | None, other: RateLimit | None) -> bool:
    """Whether whatever a limit allows, the other one allows too. No limit allows everything."""
    if other is None:
        return True
    if rate_limit is None:
        return False
    seconds = PERIOD_SECONDS[rate_limit["period"]]
    seconds_of_other = PERIOD_SECONDS[other["period"]]
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
    article = "an" if rate_limit["period"] == "hour" else "a"
    return f"{rate_limit['requests']} {article} {rate_limit['period']}"


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


def change_bounds(bounds: Bounds, fields: Mapping[str, object]) -> Bounds:
    """Return the bounds with those that the fields give."""
    return cast(Bounds, {name: fields.get(name, value) for name, value in bounds.items()})


def check_no_more_than(creator: ApiKey, permissions: Iterable[str], bounds: Bounds) -> None:
    """Raise InsufficientPermissions if a key would have more permissions, life, addresses, hosts or requests than
    its creator.
    """
    for permission in permissions:
        if permission not in creator.permissions and ALL not in creator.permissions:
            raise InsufficientPermissions(f"A key cannot grant {permission}, which it lacks itself.")
    end = bounds["expires_at"]
    if creator.expires_at is not None and (end is None or end > creator.expires_at):
        raise InsufficientPermissions(
            f"A key cannot let another one outlive it. It expires at {render_timestamp(creator.expires_at)}.",
            param="expiresAt",
        )
    if not networks_lie_within(bounds["allowed_ips"], creator.allowed_ips):
        raise InsufficientPermissions(
            "A key cannot let another one work from addresses outside its own allowlist.", param="allowedIps"
        )
    if not hosts_lie_within(bounds["allowed_hosts"], creator.allowed_hosts):
        raise InsufficientPermissions(
            "A key cannot let another one ask about hosts outside its own `allowedHosts`.", param="allowedHosts"
        )
    if not is_no_higher(bounds["rate_limit"], creator.rate_limit):
        own_limit = describe_rate_limit(creator.rate_limit)
        raise InsufficientPermissions(
            f"A key cannot give another one a higher rate limit than its own: {own_limit}.", param="rateLimit"
        )


def networks_lie_within(allowed: list[str], outer: list[str]) -> bool:
    """Whether one allowlist lies within the other; an empty list means all addresses."""
    if not outer:
        return True
    networks = merge_networks(ip_network(text) for text in outer)
    return bool(allowed) and all(lies_within(ip_network(text), networks) for text in allowed)


def hosts_lie_within(allowed: list[str], outer: list[str]) -> bool:
    """Whether one list of hosts lies within the other; an empty list means all hosts."""
    return not outer or (bool(allowed) and set(allowed) <= set(outer))


def check_permissions_of_type(key_type: str, permissions: list[str]) -> None:
    if key_type == "public":
        for index, permission in enumerate(permissions):
            if not permission.endswith(":read") or permission in NEVER_PUBLIC:
                raise ValidationFailed(
                    f"A public key can only read: it cannot have {permission}.", param=f"permissions[{index}]"
                )


def check_may_change(changer: ApiKey, key: ApiKey, new_bounds: Bounds) -> None:
    """Raise InsufficientPermissions if a change gives the key more than the changing key may give."""
    old_bounds = key_bounds(key)
    if is_wider(new_bounds, old_bounds):
        check_no_more_than(changer, key.permissions, new_bounds)
        return
    # Bounds that stay as they are may lie beyond those of the changing key.
    changes = {name: value for name, value in new_bounds.items() if value != old_bounds.get(name)}
    check_no_more_than(changer, [], change_bounds(key_bounds(changer), changes))


def is_wider(new_bounds: Bounds, old_bounds: Bounds) -> bool:
    """Whether the key would work longer, more often, from more addresses or for more hosts than before."""
    new_end = new_bounds["expires_at"]
    old_end = old_bounds["expires_at"]
    lasts_longer = old_end is not None and (new_end is None or new_end > old_end)
    return (
        lasts_longer
        or not networks_lie_within(new_bounds["allowed_ips"], old_bounds["allowed_ips"])
        or not hosts_lie_within(new_bounds["allowed_hosts"], old_bounds["allowed_hosts"])
        or not is_no_higher(new_bounds["rate_limit"], old_bounds["rate_limit"])
    )
