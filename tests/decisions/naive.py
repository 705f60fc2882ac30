"""A second, deliberately simple implementation of docs/reference/policies.md, on the policy's JSON.

It shares no code with the service, whose results are compared with it.
"""

from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any
from zoneinfo import ZoneInfo


def expected(
    rules: list[dict[str, Any]], default_action: str, known: dict[str, Any]
) -> tuple[bool, str | None, int | None, list[str]]:
    """Return whether access is allowed, the reason, the index of the matching rule, and the permissions."""
    if known["archived"]:
        return False, "content_archived", None, []
    for index in order_of_trial(rules):
        rule = rules[index]
        if all(holds(name, wanted, known) for name, wanted in rule["conditions"].items()):
            return outcome(rule["action"], rule.get("permissions", []), (rules, default_action), known, index)
    return outcome(default_action, [], (rules, default_action), known, None)


def order_of_trial(rules: list[dict[str, Any]]) -> list[int]:
    remaining, order = list(range(len(rules))), []
    while remaining:
        best = remaining[0]
        for index in remaining[1:]:
            if goes_before(rules[index], rules[best]):
                best = index
        remaining.remove(best)
        order.append(best)
    return order


def goes_before(rule: dict[str, Any], other: dict[str, Any]) -> bool:
    mine, its = rule.get("priority"), other.get("priority")
    if mine != its:
        return its is None or (mine is not None and mine < its)
    return rule["action"] == "deny" and other["action"] == "allow"


def holds(name: str, wanted: Any, known: dict[str, Any]) -> bool:
    if name in ("attributes", "schedule"):
        return holds_of_object(name, wanted, known)
    if name == "default":
        return True
    if name == "hasValidLicense":
        return wanted == known["hasValidLicense"]
    if name in ("before", "after"):
        return (known["now"] < datetime.fromisoformat(wanted)) is (name == "before")
    if known[name] is None:
        return False
    values = wanted if isinstance(wanted, list) else [wanted]
    if name == "ip":
        return any(ip_address(known["ip"]) in ip_network(value) for value in values)
    if name == "tags":
        return any(value in known["tags"] for value in values)
    return any(value == known[name] for value in values)


def holds_of_object(name: str, wanted: dict[str, Any], known: dict[str, Any]) -> bool:
    if name == "schedule":
        return is_open(wanted, known["now"])
    return all(fits(one, (known["attributes"] or {}).get(key)) for key, one in wanted.items())


WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def is_open(wanted: dict[str, Any], now: datetime) -> bool:
    local = now.astimezone(ZoneInfo(wanted["timeZone"]))
    clock, day = local.strftime("%H:%M"), local.weekday()
    days = wanted.get("days", WEEK)
    start, end = wanted.get("from", "00:00"), wanted.get("to", "24:00")
    if start < end:
        return WEEK[day] in days and start <= clock < end
    return (WEEK[day] in days and clock >= start) or (WEEK[day - 1] in days and clock < end)


def fits(wanted: Any, value: Any) -> bool:
    if wanted == {"exists": False}:
        return value is None
    if value is None:
        return False
    if not isinstance(wanted, dict):
        values = wanted if isinstance(wanted, list) else [wanted]
        return any(one == value and isinstance(one, bool) == isinstance(value, bool) for one in values)
    bounds = {name: bound for name, bound in wanted.items() if name != "exists"}
    if not bounds:
        return True
    if isinstance(value, bool | str):
        return False
    return all(
        {"gt": value > bound, "gte": value >= bound, "lt": value < bound, "lte": value <= bound}[name]
        for name, bound in bounds.items()
    )


def outcome(
    action: str, granted: list[str], policy: tuple[list[dict[str, Any]], str], known: dict[str, Any], index: int | None
) -> tuple[bool, str | None, int | None, list[str]]:
    if action == "allow":
        asked = known["permission"]
        if asked is None or asked in granted or "full_access" in granted:
            return True, None, index, granted
        return False, "permission_not_granted", index, []
    if known["hasValidLicense"] or not licence_would_help(policy, known):
        return False, "policy_denied", index, []
    return False, "license_expired" if known["lapsed"] else "no_license", index, []


def licence_would_help(policy: tuple[list[dict[str, Any]], str], known: dict[str, Any]) -> bool:
    """Return whether a licence would help: of the type that the requester states, or of one that a rule wants."""
    rules, default_action = policy
    types = {known["licenseType"]}
    for rule in rules:
        wanted = rule["conditions"].get("licenseType", [])
        types.update(wanted if isinstance(wanted, list) else [wanted])
    licensed = [{**known, "licenseType": type_, "hasValidLicense": True} for type_ in types]
    return any(expected(rules, default_action, one)[0] for one in licensed)
