"""The permissions that policies of an account know."""

from collections.abc import Iterable

from licensing.policies.models import Policy

MOST_POLICIES = 1_000  # the newest, which bounds what a page reads


def known_permissions(account_ids: Iterable[str]) -> set[str]:
    """Those that rules grant or ask for. `full_access` is granted, and asked for by nobody."""
    policies = Policy.objects.filter(account__in=account_ids, deleted_at=None)
    found: set[str] = set()
    for rules in policies.order_by("-pk").values_list("rules", flat=True)[:MOST_POLICIES]:
        for rule in rules:
            wanted = rule["conditions"].get("permission", [])
            found.update(rule.get("permissions") or ())
            found.update(wanted if isinstance(wanted, list) else [wanted])
    return found - {"full_access"}
