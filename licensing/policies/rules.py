"""Policy rules: from JSON to frozen, validated values (docs/policies.md). No ORM, no HTTP.

A rule matches if all its conditions do; a condition with several values matches if any of them does. What is not known
matches nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from sys import getsizeof

import orjson

from kit.values.currencies import MINOR_UNITS
from kit.values.decimals import PLACES, parse_amount, to_millionths
from licensing.policies.condition_values import RuleError, expect, mapping, one_of, permission_name
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
MAX_PRICE = 1_000_000  # in the currency's own unit
RULE_FIELDS = ("action", "priority", "conditions", "permissions", "rateLimit", "pricePerAccess", "message")


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests: int
    period: str


@dataclass(frozen=True, slots=True)
class Price:
    """What an access costs; in millionths."""

    amount: int
    currency: str


@dataclass(frozen=True, slots=True)
class Rule:
    index: int  # in the policy's list, counted from 0
    action: str
    priority: int | None
    conditions: tuple[Condition, ...]
    permissions: tuple[str, ...]
    rate_limit: RateLimit | None
    price: Price | None  # the rule's offer to who holds no licence for it
    message: str | None
    # What its rate limit is counted under: edits that leave action, conditions and period alone keep the count.
    fingerprint: bytes

    # Derived, for speed: the conditions' tests alone, and the licence types that the rule asks for, if it does.
    tests: tuple[Callable[[Facts], bool], ...]
    license_types: frozenset[str] | None
    tier: str | None  # the first of them, which its offer is for
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


def integer(value: object, path: str, low: int, high: int) -> int:
    if type(value) is not int or not low <= value <= high:
        raise RuleError(path, f"Must be an integer from {low:,} to {high:,}.")
    return value


def fields_of(value: object, names: tuple[str, str], path: str) -> Mapping[str, object]:
    """The fields of an object that has these two and no others."""
    fields = mapping(value, path, f"Must be an object with {' and '.join(names)}.")
    for name in fields:
        expect(name in names, f"{path}.{name}", "There is no such field.")
    for name in names:
        expect(name in fields, f"{path}.{name}", "This field is required.")
    return fields


def parse_rate_limit(value: object, path: str) -> RateLimit:
    fields = fields_of(value, ("requests", "period"), path)
    requests = integer(fields["requests"], f"{path}.requests", 1, MAX_REQUESTS)
    period = one_of(PERIODS, fields["period"], f"{path}.period", f"Must be one of: {', '.join(PERIODS)}.")
    return RateLimit(requests, period)


def parse_price(value: object, path: str) -> Price:
    fields = fields_of(value, ("amount", "currency"), path)
    amount, currency = fields["amount"], fields["currency"]
    try:
        # The JSON of a number has the digits that were sent, as long as they are few.
        exact = parse_amount(amount if isinstance(amount, str) else orjson.dumps(amount).decode())
    except (ValueError, TypeError):
        exact = parse_amount(0)
    expect(
        0 < exact <= MAX_PRICE,
        f"{path}.amount",
        f"Must be more than 0 and at most {MAX_PRICE:,}, with at most {PLACES} places after the point.",
    )
    if not isinstance(currency, str) or currency not in MINOR_UNITS:
        raise RuleError(f"{path}.currency", "Must be the ISO 4217 code of a currency in use, such as EUR.")
    return Price(to_millionths(exact), currency)


def parse_permissions(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise RuleError(path, "Must be an array of permissions.")
    expect(len(value) <= MAX_PERMISSIONS, path, f"Must have at most {MAX_PERMISSIONS} permissions.")
    return tuple(dict.fromkeys(permission_name(name, f"{path}[{index}]") for index, name in enumerate(value)))


def parse_rule(value: object, index: int) -> Rule:
    path = f"[{index}]"
    fields = mapping(value, path)
    for name in fields:
        expect(name in RULE_FIELDS, f"{path}.{name}", "There is no such field.")
    for name in ("action", "conditions"):
        expect(name in fields, f"{path}.{name}", "This field is required.")
    action = one_of(ACTIONS, fields["action"], f"{path}.action", "Must be allow or deny.")
    for name in ("permissions", "rateLimit", "pricePerAccess"):
        expect(action == "allow" or name not in fields, f"{path}.{name}", "Only an allow rule can have this field.")
    message = parse_message(fields["message"], f"{path}.message") if "message" in fields else None
    conditions = parse_conditions(fields["conditions"], f"{path}.conditions")
    asked = asked_types(conditions)
    rate_limit = parse_rate_limit(fields["rateLimit"], f"{path}.rateLimit") if "rateLimit" in fields else None
    permissions = parse_permissions(fields.get("permissions", []), f"{path}.permissions")
    identity = [action, fields["conditions"], rate_limit and rate_limit.period]
    return Rule(
        index=index,
        action=action,
        priority=integer(fields["priority"], f"{path}.priority", 0, MAX_PRIORITY) if "priority" in fields else None,
        conditions=conditions,
        permissions=permissions,
        grants_all=FULL_ACCESS in permissions,
        rate_limit=rate_limit,
        price=parse_price(fields["pricePerAccess"], f"{path}.pricePerAccess") if "pricePerAccess" in fields else None,
        message=message,
        tests=tuple(condition.matches for condition in conditions),
        license_types=None if asked is None else frozenset(asked),
        tier=asked[0] if asked else None,
        fingerprint=blake2b(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS), digest_size=16).digest(),
    )


def parse_message(value: object, path: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_MESSAGE:
        raise RuleError(path, f"Must be a string of at most {MAX_MESSAGE} characters.")
    return value


def asked_types(conditions: Iterable[Condition]) -> list[str] | None:
    """The licence types that a rule asks for, in its order; None if it asks for none."""
    for condition in conditions:
        if condition.name == "licenseType":
            return values_of(condition.wanted)
    return None


def parse_rules(value: object) -> tuple[Rule, ...]:
    """The rules of a policy in the order of its list. Raises RuleError."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise RuleError("", "Must be an array of rules.")
    expect(len(value) <= MAX_RULES, "", f"A policy has at most {MAX_RULES} rules.")
    return tuple(parse_rule(rule, index) for index, rule in enumerate(value))


def parse_new_rules(value: object) -> tuple[Rule, ...]:
    """The same of rules that are sent. Raises RuleError for more than MAX_RULES_BYTES too."""
    check_size(value)
    return parse_rules(value)


def check_size(value: object) -> None:
    size = len(orjson.dumps(value))
    message = f"The rules of a policy take at most {MAX_RULES_BYTES:,} bytes of JSON; these take {size:,}."
    expect(size <= MAX_RULES_BYTES, "", message)


__all__ = ["RuleError", "parse_new_rules", "parse_rules"]
