"""Lint a policy: find rules its author probably did not intend. Pure: no ORM, clock or HTTP.

Findings of rules that never apply are sound: no facts from `now` on disprove them. They are not complete: a rule
covered only by several others together is not found.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from licensing.policies.conditions import CONDITIONS
from licensing.policies.matching.coverage import ComparableRule
from licensing.policies.rules import FULL_ACCESS, Rule

LEVELS = ("warning", "info")
IDENTIFYING_FACTS = {"requester_id", "ip", "attributes"}  # attributes of Facts that tell who the requester is
# Levels by code.
CODE_LEVELS = {
    "duplicate_rule": "warning",
    "unreachable_rule": "warning",
    "contradictory_conditions": "warning",
    "ended": "warning",
    "permission_never_granted": "warning",
    "never_allows": "warning",
    "price_never_quoted": "warning",
    "unknown_license_type": "warning",
    "allow_without_license": "warning",
    "default_allows": "warning",
    "allow_by_name_alone": "info",
    "license_may_have_lapsed": "info",
    "grants_nothing": "info",
    "begun": "info",
    "not_compared": "info",
}
MAX_COMPARED_VALUES = 2_000_000  # values in the conditions of the rules that are compared with each other


@dataclass(frozen=True, slots=True)
class Finding:
    """A lint finding. `path` has the format of validation errors: `rules[0].conditions.licenseType`."""

    level: str
    code: str
    path: str
    message: str


class Budget:
    """Limits what the comparisons of rules with each other cost."""

    def __init__(self, operations: int) -> None:
        self.remaining = operations

    def spend(self, *rules: ComparableRule) -> bool:
        """Count the comparison of these rules; return whether the budget allows it."""
        self.remaining -= sum(rule.size for rule in rules)
        return self.remaining >= 0

    @property
    def is_spent(self) -> bool:
        return self.remaining < 0


def build_finding(code: str, path: str, message: str) -> Finding:
    return Finding(CODE_LEVELS[code], code, path, message)


def lint(
    rules: Sequence[Rule], default_action: str, now: datetime, license_types: Iterable[str] | None = None
) -> list[Finding]:
    """Return findings in rule order, those about the whole policy last.

    `license_types` are the types of existing licences; None if callers assert all licences themselves.
    """
    known_types = None if license_types is None else frozenset(license_types)
    evaluated = [ComparableRule.from_rule(rule, now) for rule in sorted(rules, key=Rule.precedence)]
    budget = Budget(MAX_COMPARED_VALUES)
    reachable: list[Rule] = []
    by_rule: dict[int, list[Finding]] = {}
    for position, comparable in enumerate(evaluated):
        rule = comparable.rule
        earlier = evaluated[:position]
        unreachable = find_unreachable(comparable, earlier, budget)
        if unreachable is not None:
            by_rule[rule.index] = [unreachable]
            continue
        reachable.append(rule)
        by_rule[rule.index] = [
            *check_rule(rule, comparable),
            *check_price(comparable, earlier, budget),
            *check_license_types(rule, known_types),
        ]
    findings = [finding for index in sorted(by_rule) for finding in by_rule[index]]
    findings += check_budget(budget)
    findings += check_default(default_action, reachable)
    return findings


def check_budget(budget: Budget) -> Iterator[Finding]:
    if budget.is_spent:
        message = (
            "Some rules were not compared with all rules before them, because their conditions have too many values. "
            "Shorten the conditions to find all rules that never apply."
        )
        yield build_finding("not_compared", "rules", message)


def check_default(default_action: str, reachable: Iterable[Rule]) -> Iterator[Finding]:
    """Yield what is wrong with the policy as a whole. `reachable` are the rules that can decide."""
    if default_action == "allow":
        message = "Whoever no rule matches is allowed, with no permission by name."
        yield build_finding("default_allows", "defaultAction", message)
    elif not any(rule.action == "allow" and may_grant(rule) for rule in reachable):
        yield build_finding("never_allows", "rules", "Nothing is ever allowed by this policy.")


def find_unreachable(later: ComparableRule, earlier: Sequence[ComparableRule], budget: Budget) -> Finding | None:
    """Return a finding if the rule can certainly never decide."""
    rule = later.rule
    path = f"rules[{rule.index}]"
    if later.is_empty:
        return build_finding(
            "contradictory_conditions", f"{path}.conditions", "It ends before it begins, and never matches."
        )
    if later.has_ended:
        return build_finding(
            "ended", f"{path}.conditions.before", "This moment has passed: the rule never matches again."
        )
    for name, condition_value in later.others.items():
        reason = CONDITIONS[name].never(condition_value)
        if reason:
            return build_finding("contradictory_conditions", f"{path}.conditions.{name}", reason)
    if later.is_never_open:
        message = "These days and hours do not come between the rule's `after`, or now, and its `before`."
        return build_finding("contradictory_conditions", f"{path}.conditions.schedule", message)
    for other in earlier:
        if not budget.spend(other, later):
            return None
        if other.covers(later) and not is_passed_by_payers(other, later):
            if comparable_fields(rule) == comparable_fields(other.rule):
                order = explain_order(other.rule, rule)
                message = f"Says the same as rules[{other.rule.index}], which is tried before it: {order}."
                return build_finding("duplicate_rule", path, message)
            message = (
                f"Is never reached: rules[{other.rule.index}] is tried before it, and matches whatever it matches: "
                f"{explain_order(other.rule, rule)}."
            )
            return build_finding("unreachable_rule", path, message)
    return None


def is_passed_by_payers(earlier: ComparableRule, later: ComparableRule) -> bool:
    """Whether people without a licence get past the earlier rule by paying the price of the later one."""
    if later.rule.price is None or earlier.rule.price is not None or earlier.rule.action == "deny":
        return False
    return bool(earlier.license_conditions)


def check_price(later: ComparableRule, earlier: Sequence[ComparableRule], budget: Budget) -> Iterator[Finding]:
    """Yield what keeps anybody from being offered the rule's price (licensing.policies.offers)."""
    if later.rule.price is None:
        return
    licensed = later.with_license(later.rule.tier)
    payer = later.without_license
    for other in earlier:
        if not budget.spend(other, licensed, payer):
            return
        decides = other.rule.action == "deny" or other.rule.price is not None
        if decides and (other.covers(licensed) or (other.rule.price is not None and other.covers(payer))):
            message = (
                f"Nobody is offered this price: rules[{other.rule.index}] is tried before it, and decides about "
                f"whoever would pay it: {explain_order(other.rule, later.rule)}."
            )
            yield build_finding("price_never_quoted", f"rules[{later.rule.index}].pricePerAccess", message)
            return


def explain_order(earlier: Rule, later: Rule) -> str:
    """Explain why one rule is evaluated before the other (`Rule.precedence`)."""
    if earlier.priority != later.priority:
        if later.priority is None:
            return f"it has a priority ({earlier.priority}), this one has none"
        return f"its priority is {earlier.priority}, this one's {later.priority}"
    shared = "neither has a priority" if earlier.priority is None else f"both have the priority {earlier.priority}"
    if earlier.action != later.action:
        return f"{shared}, and of equals deny comes before allow"
    return f"{shared}, and it stands first in the list"


def comparable_fields(rule: Rule) -> tuple[object, ...]:
    conditions = {condition.name: condition.value for condition in rule.conditions}
    return rule.action, conditions, set(rule.permissions), rule.rate_limit, rule.price, rule.message


def may_grant(rule: Rule) -> bool:
    """Return whether the allow rule can allow any check it matches."""
    permissions = rule.requested_permissions
    return permissions is None or any(rule.grants(permission) for permission in permissions)


def check_rule(rule: Rule, comparable: ComparableRule) -> Iterator[Finding]:
    path = f"rules[{rule.index}]"
    if comparable.has_begun:
        yield build_finding("begun", f"{path}.conditions.after", "This moment has passed: the condition always holds.")
    if rule.action != "allow":
        return
    for permission in rule.requested_permissions or ():
        if not rule.grants(permission):
            message = f"The rule is for {permission}, but does not grant it: such checks are denied."
            yield build_finding("permission_never_granted", f"{path}.permissions", message)
    if not rule.permissions and rule.requested_permissions is None:
        message = (
            f"Grants no permission: a check that asks for one is denied. {FULL_ACCESS} grants all. "
            "At a site it lets pages be read."
        )
        yield build_finding("grants_nothing", path, message)
    values_by_condition = {condition.name: condition.value for condition in rule.conditions}
    facts_read = {CONDITIONS[condition.name].reads for condition in rule.conditions}
    needs_valid_license = values_by_condition.get("hasValidLicense") is True
    if not needs_valid_license and "licenseType" in values_by_condition:
        message = "Matches a licence type that the caller names without vouching for it. Add hasValidLicense: true."
        yield build_finding("license_may_have_lapsed", f"{path}.conditions", message)
    elif needs_valid_license or rule.price is not None:  # whoever does not pay is denied
        return
    elif IDENTIFYING_FACTS.isdisjoint(facts_read):
        yield build_finding("allow_without_license", f"{path}.conditions", "Allows access without any licence.")
    else:
        message = "Allows access by name, without asking for a licence."
        yield build_finding("allow_by_name_alone", f"{path}.conditions", message)


def check_license_types(rule: Rule, known_types: frozenset[str] | None) -> Iterator[Finding]:
    if known_types is None:
        return
    for condition in rule.conditions:
        if condition.name == "licenseType":
            path = f"rules[{rule.index}].conditions.licenseType"
            is_list = isinstance(condition.value, list)
            for index, name in enumerate(condition.values):
                if name not in known_types:
                    message = f"There is no licence of the type {name!r}."
                    yield build_finding("unknown_license_type", f"{path}[{index}]" if is_list else path, message)
