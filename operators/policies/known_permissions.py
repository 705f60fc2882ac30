"""Permissions and condition values in the accounts' policies."""

from collections.abc import Iterable, Iterator

from licensing.policies.in_words import Rule
from licensing.policies.models import Policy

MOST_POLICIES = 1_000  # newest policies to read, which bounds the cost


def known_rules(account_ids: Iterable[str]) -> Iterator[Rule]:
    """Yield the rules of the newest MOST_POLICIES."""
    policies = Policy.objects.filter(account__in=account_ids, deleted_at=None)
    for rules in policies.order_by("-pk").values_list("rules", flat=True)[:MOST_POLICIES]:
        yield from rules


def asked_for(rule: Rule, condition: str) -> list[str]:
    """Return the values of a condition in a rule; empty without it."""
    wanted = rule["conditions"].get(condition, [])
    return list(map(str, wanted if isinstance(wanted, list) else [wanted]))


def known_permissions(account_ids: Iterable[str]) -> set[str]:
    """Return permissions that rules grant or require, without `full_access`, which nobody requests."""
    found: set[str] = set()
    for rule in known_rules(account_ids):
        found.update(rule.get("permissions") or (), asked_for(rule, "permission"))
    return found - {"full_access"}
