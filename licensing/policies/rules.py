"""Policy rules: from JSON to frozen, validated values (docs/policies.md). No ORM, no HTTP.

A rule matches if all its conditions do; a condition with several values matches if any of them does. What is not known
matches nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from sys import getsizeof
from typing import Any

import orjson

from licensing.policies.condition_values import RuleError, expect, permission_name
from licensing.policies.conditions import Condition, parse_conditions, values_of
from licensing.policies.facts import Facts


class Action(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


ACTIONS = tuple(map(str, Action))
PERIODS = ("second", "minute", "hour", "day", "week", "month")
FULL_ACCESS = "full_access"

MAX_RULES = 100
MAX_RULES_BYTES = 64 * 1024  # of compact JSON: bounds replies, traces and what is compiled
MAX_PRIORITY = 1_000_000
MAX_PERMISSIONS = 50
MAX_REQUESTS = 1_000_000_000
MAX_MESSAGE = 500
RULE_FIELDS = ("action", "priority", "conditions", "permissions", "rateLimit", "message")


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests: int
    period: str


@dataclass(frozen=True, slots=True)
class Rule:
    index: int  # in the policy's list, counted from 0
    action: str
    priority: int | None
    conditions: tuple[Condition, ...]
    permissions: tuple[str, ...]
    rate_limit: RateLimit | None
    message: str | None
    # What its rate limit is counted under: edits that leave action, conditions and period alone keep the count.
    fingerprint: bytes

    # Derived, for speed: the conditions' tests alone, and the licence types that the rule asks for, if it does.
    tests: tuple[Callable[[Facts], bool], ...]
    license_types: frozenset[str] | None
    grants_all: bool

    def first_failing(self, facts: Facts) -> Condition | None:
        for condition in self.conditions:
            if not condition.matches(facts):
                return condition
        return None

    @property
    def size(self) -> int:
        """About how many bytes of memory it takes, at most (measured: 840 bytes and more, and its conditions)."""
        texts = sum(map(getsizeof, self.permissions)) + getsizeof(self.message)
        return 1_000 + texts + sum(condition.size for condition in self.conditions)

    def grants(self, permission: str | None) -> bool:
        return permission is None or self.grants_all or permission in self.permissions


def integer(value: Any, path: str, low: int, high: int) -> int:
    expect(type(value) is int and low <= value <= high, path, f"Must be an integer from {low:,} to {high:,}.")
    return value


def parse_rate_limit(value: Any, path: str) -> RateLimit:
    expect(isinstance(value, Mapping), path, "Must be an object with requests and period.")
    for name in value:
        expect(name in ("requests", "period"), f"{path}.{name}", "There is no such field.")
    for name in ("requests", "period"):
        expect(name in value, f"{path}.{name}", "This field is required.")
    requests = integer(value["requests"], f"{path}.requests", 1, MAX_REQUESTS)
    expect(value["period"] in PERIODS, f"{path}.period", f"Must be one of: {', '.join(PERIODS)}.")
    return RateLimit(requests, value["period"])


def parse_permissions(value: Any, path: str) -> tuple[str, ...]:
    expect(isinstance(value, list), path, "Must be an array of permissions.")
    expect(len(value) <= MAX_PERMISSIONS, path, f"Must have at most {MAX_PERMISSIONS} permissions.")
    return tuple(dict.fromkeys(permission_name(name, f"{path}[{index}]") for index, name in enumerate(value)))


def parse_rule(value: Any, index: int) -> Rule:
    path = f"[{index}]"
    expect(isinstance(value, Mapping), path, "Must be an object.")
    for name in value:
        expect(name in RULE_FIELDS, f"{path}.{name}", "There is no such field.")
    for name in ("action", "conditions"):
        expect(name in value, f"{path}.{name}", "This field is required.")
    action = value["action"]
    expect(action in ACTIONS, f"{path}.action", "Must be allow or deny.")
    for name in ("permissions", "rateLimit"):
        expect(action == "allow" or name not in value, f"{path}.{name}", "Only an allow rule can have this field.")
    message = value.get("message")
    if "message" in value:
        expect(
            isinstance(message, str) and len(message) <= MAX_MESSAGE,
            f"{path}.message",
            f"Must be a string of at most {MAX_MESSAGE} characters.",
        )
    conditions = parse_conditions(value["conditions"], f"{path}.conditions")
    rate_limit = parse_rate_limit(value["rateLimit"], f"{path}.rateLimit") if "rateLimit" in value else None
    permissions = parse_permissions(value.get("permissions", []), f"{path}.permissions")
    identity = [action, value["conditions"], rate_limit and rate_limit.period]
    return Rule(
        index=index,
        action=action,
        priority=integer(value["priority"], f"{path}.priority", 0, MAX_PRIORITY) if "priority" in value else None,
        conditions=conditions,
        permissions=permissions,
        grants_all=FULL_ACCESS in permissions,
        rate_limit=rate_limit,
        message=message,
        tests=tuple(condition.matches for condition in conditions),
        license_types=wanted_types(value["conditions"].get("licenseType")),
        fingerprint=blake2b(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS), digest_size=16).digest(),
    )


def wanted_types(value: Any) -> frozenset[str] | None:
    return None if value is None else frozenset(values_of(value))


def parse_rules(value: Any) -> tuple[Rule, ...]:
    """The rules of a policy in the order of its list. Raises RuleError."""
    expect(isinstance(value, Sequence) and not isinstance(value, str), "", "Must be an array of rules.")
    expect(len(value) <= MAX_RULES, "", f"A policy has at most {MAX_RULES} rules.")
    return tuple(parse_rule(rule, index) for index, rule in enumerate(value))


def parse_new_rules(value: Any) -> tuple[Rule, ...]:
    """The same of rules that are sent. Raises RuleError for more than MAX_RULES_BYTES too."""
    check_size(value)
    return parse_rules(value)


def check_size(value: Any) -> None:
    size = len(orjson.dumps(value))
    message = f"The rules of a policy take at most {MAX_RULES_BYTES:,} bytes of JSON; these take {size:,}."
    expect(size <= MAX_RULES_BYTES, "", message)


__all__ = ["RuleError", "parse_new_rules", "parse_rules"]
