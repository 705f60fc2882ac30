"""Describe a rule as a sentence."""

from decimal import Decimal
from typing import Required, TypedDict

from kit.values.currencies import in_full
from licensing.policies.conditions import IN_WORDS
from licensing.policies.rules import VISITOR


class RateLimit(TypedDict, total=False):
    requests: Required[int]
    period: Required[str]
    per: str


class Price(TypedDict):
    amount: str
    currency: str


class Rule(TypedDict, total=False):
    """A valid rule in the JSON of the API."""

    action: Required[str]
    conditions: Required[dict[str, object]]
    priority: int
    permissions: list[str]
    rateLimit: RateLimit
    pricePerAccess: Price
    message: str


def describe(rule: Rule) -> str:
    """Describe the rule, as in "Allow if the licence is valid. Grants full_access. 100 times an hour." """
    conditions = rule["conditions"]
    clauses = [one.clause(conditions[one.name]) for one in IN_WORDS if one.name in conditions]
    start = "Allow" if rule["action"] == "allow" else "Deny"
    parts = [f"{start} always" if clauses == ["always"] else f"{start} if {' and '.join(clauses)}"]
    if rule["action"] == "allow":
        parts.append(f"Grants {', '.join(rule['permissions'])}" if rule.get("permissions") else "Grants no permission")
    if "rateLimit" in rule:
        limit = rule["rateLimit"]
        times = "Once" if limit["requests"] == 1 else f"{limit['requests']:,} times"
        counted = VISITOR if limit.get("per") == VISITOR else "customer"
        parts.append(f"{times} {'an' if limit['period'] == 'hour' else 'a'} {limit['period']} for each {counted}")
    if "pricePerAccess" in rule:
        price = rule["pricePerAccess"]
        amount = in_full(Decimal(str(price["amount"])), price["currency"])
        parts.append(f"Without a licence {amount} for each access")
    sentences = ". ".join(parts) + "."
    return f"{sentences} Says: “{rule['message']}”" if rule.get("message") else sentences
