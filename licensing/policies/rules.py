"""Parse policy rules from JSON into validated, frozen values (docs/reference/policies.md). No ORM, no HTTP.

A rule matches if all its conditions hold. A condition with several values holds if any value does. Unknown facts match
nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from sys import getsizeof
from typing import NoReturn

import orjson

from kit.bounded_cache import cached_by_json
from kit.values.currencies import MINOR_UNITS
from kit.values.decimals import PLACES, parse_amount, to_millionths
from kit.values.faults import Fault, Faults, read_each
from licensing.policies.condition_values import Fields, choice_reader, expect, integer_reader, parse_permission
from licensing.policies.conditions import Condition, parse_conditions
from licensing.policies.facts import Facts, PayerFacts


class Action(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


ACTIONS = tuple(map(str, Action))
REQUESTER = "requester"  # whose accesses a rate limit counts
VISITOR = "visitor"
COUNTED = (REQUESTER, VISITOR)
PERIODS = ("second", "minute", "hour", "day", "week", "month")
FULL_ACCESS = "full_access"
READ = "read"

MAX_RULES = 100
MAX_RULES_BYTES = 64 * 1024  # of compact JSON; limits replies, traces and compiled policies
MAX_PRIORITY = 1_000_000
MAX_PERMISSIONS = 50
MAX_REQUESTS = 1_000_000_000
MAX_MESSAGE = 500
MAX_PRICE = 1_000_000  # in the currency's main unit
ALLOW_RULE_FIELDS = ("permissions", "rateLimit", "pricePerAccess")
RATE_LIMIT_SHAPE = 'Must be an object such as {"requests": 100, "period": "hour"}.'
PRICE_SHAPE = 'Must be an object such as {"amount": 0.05, "currency": "EUR"}.'
RULE_SHAPE = 'Must be an object such as {"action": "allow", "conditions": {"default": true}}.'
RULES_SHAPE = 'Must be an array of rules such as [{"action": "allow", "conditions": {"default": true}}].'
RULE_FIELDS = ("action", "priority", "conditions", "message", *ALLOW_RULE_FIELDS)


@dataclass(frozen=True, slots=True)
class RateLimit:
    requests: int
    period: str
    per: str = REQUESTER


@dataclass(frozen=True, slots=True)
class Price:
    """Price of an access, in millionths."""

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
    price: Price | None  # offer to requesters without a licence
    message: str | None
    # Key of its rate-limit counter. Other edits than of action, conditions, period and `per` keep the count.
    fingerprint: bytes

    # Derived, for speed: the conditions' tests, and the licence types of its `licenseType` condition, if any.
    tests: tuple[Callable[[Facts], bool], ...]
    license_types: frozenset[str] | None
    tier: str | None  # the first of them, used for its offer
    grants_all: bool

    def precedence(self) -> tuple[bool, int, bool, int]:
        """Return the sort key of rules: ascending priority (none last), then deny before allow, then list order."""
        return self.priority is None, self.priority or 0, self.action != Action.DENY, self.index

    def matches(self, facts: Facts) -> bool:
        """Return whether all conditions hold."""
        if type(facts) is PayerFacts:
            return self.first_failing(facts) is None
        for holds in self.tests:  # a generator would double the time
            if not holds(facts):
                break
        else:
            return True
        return False

    def first_failing(self, facts: Facts) -> Condition | None:
        """Return the condition that keeps the rule from matching; None if it matches.

        For a requester who pays for one access (PayerFacts), the payment counts as a licence in rules with a price and
        in deny rules. Allow rules without a price have to match without the payment too.
        """
        failing = next((condition for condition in self.conditions if not condition.matches(facts)), None)
        if type(facts) is not PayerFacts or self.action == Action.DENY:
            return failing
        failing_unpaid = next(
            (condition for condition in self.conditions if not condition.matches(facts.unpaid)), None
        )
        if self.price is not None:
            return failing if failing_unpaid is not None else None
        return failing or failing_unpaid

    @property
    def size(self) -> int:
        """Upper estimate of its memory in bytes (measured: at least 840, plus its conditions)."""
        texts = sum(map(getsizeof, self.permissions)) + getsizeof(self.message)
        return 1_000 + texts + sum(condition.size for condition in self.conditions)

    @property
    def requested_permissions(self) -> list[str] | None:
        """The permissions of its `permission` condition, or None without one."""
        return find_values(self.conditions, "permission")

    def names(self, facts: Facts) -> bool:
        """Return whether the rule names the requester or the requested permission, in a condition or as granted."""
        if facts.permission in self.permissions or facts.permission in (self.requested_permissions or ()):
            return True
        requester_ids = [condition.values for condition in self.conditions if condition.name == "requesterId"]
        return any(facts.requester_id in values for values in requester_ids)

    def grants(self, permission: str | None) -> bool:
        return permission is None or self.grants_all or permission in self.permissions

    @property
    def permissions_at_edge(self) -> tuple[str, ...]:
        """Permissions granted to visitors of a site. A rule without permissions grants `read` there."""
        return self.permissions or (READ,)

    def granted_permissions(self, facts: Facts) -> tuple[str, ...]:
        return self.permissions if facts.identified_by is None else self.permissions_at_edge

    def permits(self, facts: Facts) -> bool:
        """Return whether the rule grants the requested permission."""
        permission = facts.permission
        return permission is None or self.grants_all or permission in self.granted_permissions(facts)

    def grants_at_edge(self, permission: str | None) -> bool:
        return permission is None or self.grants_all or permission in self.permissions_at_edge


parse_action = choice_reader(ACTIONS, "Must be allow or deny.")
parse_period = choice_reader(PERIODS, f"Must be one of: {', '.join(PERIODS)}.")
parse_counted = choice_reader(COUNTED, f"Must be one of: {', '.join(COUNTED)}.")


def parse_rate_limit(value: object, path: str) -> RateLimit:
    names = ("requests", "period")
    fields = Fields(value, path, (*names, "per"), names, RATE_LIMIT_SHAPE)
    requests = fields.read("requests", integer_reader(1, MAX_REQUESTS), 0)
    period = fields.read("period", parse_period, "")
    per = fields.read("per", parse_counted, REQUESTER)
    fields.faults.raise_first()
    return RateLimit(requests, period, per)


def parse_price_amount(value: object, path: str) -> int:
    """Parse an amount to millionths."""
    try:
        # Dumping the number restores the digits that were sent, if there are few.
        exact = parse_amount(value if isinstance(value, str) else orjson.dumps(value).decode())
    except (ValueError, TypeError):
        exact = parse_amount(0)
    precision = f"with at most {PLACES} places after the point"
    expect(0 < exact <= MAX_PRICE, path, f"Must be more than 0 and at most {MAX_PRICE:,}, {precision}.")
    return to_millionths(exact)


def parse_price_currency(value: object, path: str) -> str:
    if not isinstance(value, str) or value not in MINOR_UNITS:
        raise Fault(path, "Must be the ISO 4217 code of a currency in use, such as EUR.")
    return value


def parse_price(value: object, path: str) -> Price:
    names = ("amount", "currency")
    fields = Fields(value, path, names, names, PRICE_SHAPE)
    amount = fields.read("amount", parse_price_amount, 0)
    currency = fields.read("currency", parse_price_currency, "")
    fields.faults.raise_first()
    return Price(amount, currency)


def parse_permissions(value: object, path: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Fault(path, 'Must be an array of permissions such as ["read"].')
    expect(len(value) <= MAX_PERMISSIONS, path, f"Must have at most {MAX_PERMISSIONS} permissions.")
    return tuple(dict.fromkeys(read_each(value, path, parse_permission)))


def parse_message(value: object, path: str) -> str:
    if not isinstance(value, str) or len(value) > MAX_MESSAGE:
        raise Fault(path, f"Must be a string of at most {MAX_MESSAGE} characters.")
    return value


def refuse_in_deny_rule(value: object, path: str) -> NoReturn:
    raise Fault(path, "Only an allow rule can have this field.")


def parse_rule(value: object, index: int) -> Rule:
    """Parse a rule. Raises Fault with everything that is invalid."""
    fields = Fields(value, f"[{index}]", RULE_FIELDS, ("action", "conditions"), RULE_SHAPE)
    action = fields.read("action", parse_action, "")
    denies = action == Action.DENY
    if denies:
        for name in ALLOW_RULE_FIELDS:
            fields.read(name, refuse_in_deny_rule, None)
    message = fields.read("message", parse_message, None)
    conditions = fields.read("conditions", parse_conditions, ())
    rate_limit = None if denies else fields.read("rateLimit", parse_rate_limit, None)
    permissions = () if denies else fields.read("permissions", parse_permissions, ())
    priority = fields.read("priority", integer_reader(0, MAX_PRIORITY), None)
    price = None if denies else fields.read("pricePerAccess", parse_price, None)
    fields.faults.raise_first()
    types = find_values(conditions, "licenseType")
    return Rule(
        index=index,
        action=action,
        priority=priority,
        conditions=conditions,
        permissions=permissions,
        grants_all=FULL_ACCESS in permissions,
        rate_limit=rate_limit,
        price=price,
        message=message,
        tests=tuple(condition.matches for condition in conditions),
        license_types=None if types is None else frozenset(types),
        tier=types[0] if types else None,
        fingerprint=counter_fingerprint(action, fields.given["conditions"], rate_limit),
    )


def counter_fingerprint(action: object, conditions: object, rate_limit: RateLimit | None) -> bytes:
    """Return the key of the rule's counters: rules with equal conditions and window share them."""
    identity = [action, conditions, rate_limit and rate_limit.period]
    if rate_limit is not None and rate_limit.per == VISITOR:
        identity.append(VISITOR)
    return blake2b(orjson.dumps(identity, option=orjson.OPT_SORT_KEYS), digest_size=16).digest()


def find_values(conditions: Iterable[Condition], name: str) -> list[str] | None:
    """Return the values of the condition with this name, or None without one."""
    for condition in conditions:
        if condition.name == name:
            return condition.values
    return None


def memory_size(rules: tuple[Rule, ...]) -> int:
    return 500 + sum(rule.size for rule in rules)


# A change of a policy is validated, tested and compiled, each time with the same rules.
@cached_by_json(memory_size, most=4 * 1024 * 1024)
def parse_rules(value: object) -> tuple[Rule, ...]:
    """Parse a policy's rules, in list order. Raises Fault with everything that is invalid."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise Fault("", RULES_SHAPE)
    expect(len(value) <= MAX_RULES, "", f"A policy has at most {MAX_RULES} rules.")
    faults, rules = Faults(), []
    for index, rule in enumerate(value):
        with faults:
            rules.append(parse_rule(rule, index))
    faults.raise_first()
    return tuple(rules)


def parse_new_rules(value: object) -> tuple[Rule, ...]:
    """Parse rules sent by a client. Also raises Fault if they exceed MAX_RULES_BYTES."""
    check_size(value)
    return parse_rules(value)


def check_size(value: object) -> None:
    size = len(orjson.dumps(value))
    message = f"The rules of a policy take at most {MAX_RULES_BYTES:,} bytes of JSON; these take {size:,}."
    expect(size <= MAX_RULES_BYTES, "", message)
