"""What the policies of accounts know: the permissions, and what their rules ask for."""

from collections.abc import Iterable, Iterator

from licensing.policies.in_words import Rule
from licensing.policies.models import Policy

MOST_POLICIES = 1_000  # the newest, which bounds what a page reads


def known_rules(account_ids: Iterable[str]) -> Iterator[Rule]:
    """The rules of the newest MOST_POLICIES."""
    policies = Policy.objects.filter(account__in=account_ids, deleted_at=None)
    for rules in policies.order_by("-pk").values_list("rules", flat=True)[:MOST_POLICIES]:
        yield from rules


def asked_for(rule: Rule, condition: str) -> list[str]:
    """The values of a condition that has one or several; none where the rule does not have it."""
    wanted = rule["conditions"].get(condition, [])
    return list(map(str, wanted if isinstance(wanted, list) else [wanted]))


def known_permissions(account_ids: Iterable[str]) -> set[str]:
    """Those that rules grant or ask for. `full_access` is granted, and asked for by nobody."""
    found: set[str] = set()
    for rule in known_rules(account_ids):
        found.update(rule.get("permissions") or (), asked_for(rule, "permission"))
    return found - {"full_access"}
