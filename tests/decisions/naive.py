"""The evaluation of docs/reference/policies.md once more, from the policy's JSON, as plainly as it can be said.

Shares no code with the service: it is what the service is compared with.
"""

from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Any


def expected(
    rules: list[dict[str, Any]], default_action: str, known: dict[str, Any]
) -> tuple[bool, str | None, int | None, list[str]]:
    """Allowed, reason, index of the rule that matched, permissions."""
    if known["archived"]:
        return False, "content_archived", None, []
    for index in order_of_trial(rules):
        rule = rules[index]
        if all(holds(name, wanted, known) for name, wanted in rule["conditions"].items()):
            return outcome(rule["action"], rule.get("permissions", []), known, index)
    return outcome(default_action, [], known, None)


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
    if name == "default":
        return True
    if name == "hasValidLicense":
        return wanted == known["hasValidLicense"]
    if name == "before":
        return known["now"] < datetime.fromisoformat(wanted)
    if name == "after":
        return known["now"] >= datetime.fromisoformat(wanted)
    if known[name] is None:
        return False
    values = wanted if isinstance(wanted, list) else [wanted]
    if name == "ip":
        return any(ip_address(known["ip"]) in ip_network(value) for value in values)
    if name == "tags":
        return any(value in known["tags"] for value in values)
    return any(value == known[name] for value in values)


def outcome(
    action: str, granted: list[str], known: dict[str, Any], index: int | None
) -> tuple[bool, str | None, int | None, list[str]]:
    if action == "allow":
        asked = known["permission"]
        if asked is None or asked in granted or "full_access" in granted:
            return True, None, index, granted
        return False, "permission_not_granted", index, []
    if known["hasValidLicense"]:
        return False, "policy_denied", index, []
    return False, "license_expired" if known["lapsed"] else "no_license", index, []
