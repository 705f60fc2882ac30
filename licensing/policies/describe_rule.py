"""Describe a rule as a sentence."""

from decimal import Decimal
from typing import Required, TypedDict

from kit.values.currencies import in_full
from licensing.policies.conditions import CONDITIONS_IN_ORDER
from licensing.policies.rules import VISITOR


class RateLimitJson(TypedDict, total=False):
    requests: Required[int]
    period: Required[str]
    per: str


class PriceJson(TypedDict):
    amount: str
    currency: str


class RuleJson(TypedDict, total=False):
    """A valid rule in the JSON of the API."""

    action: Required[str]
    conditions: Required[dict[str, object]]
    priority: int
    permissions: list[str]
    rateLimit: RateLimitJson
    pricePerAccess: PriceJson
    message: str


def describe_rule(rule: RuleJson) -> str:
    """Describe the rule, as in "Allow if the licence is valid. Grants full_access. 100 times an hour." """
    conditions = rule["conditions"]
    clauses = [kind.clause(conditions[kind.name]) for kind in CONDITIONS_IN_ORDER if kind.name in conditions]
    start = "Allow" if rule["action"] == "allow" else "Deny"
    condition = " and ".join(clauses)
    parts = [f"{start} always" if condition == "always" else f"{start} if {condition}"]
    if rule["action"] == "allow":
        parts.append(f"Grants {', '.join(rule['permissions'])}" if rule.get("permissions") else "Grants no permission")
    if "rateLimit" in rule:
        limit = rule["rateLimit"]
        times = "Once" if limit["requests"] == 1 else f"{limit['requests']:,} times"
        counted_party = VISITOR if limit.get("per") == VISITOR else "customer"
        article = "an" if limit["period"] == "hour" else "a"
        parts.append(f"{times} {article} {limit['period']} for each {counted_party}")
    if "pricePerAccess" in rule:
        price = rule["pricePerAccess"]
        amount = in_full(Decimal(str(price["amount"])), price["currency"])
        parts.append(f"Without a licence {amount} for each access")
    sentences = ". ".join(parts) + "."
    if rule.get("message"):
        sentences += f" Says: “{rule['message']}”"
    return sentences
