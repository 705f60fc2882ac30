"""The items and sites that use a policy, and the permissions and condition values that policies name."""

from collections.abc import Iterable, Iterator

from django.db.models import QuerySet

from kit.values.numbers import count_text
from licensing.content.models import Content
from licensing.policies.describe_rule import RuleJson
from licensing.policies.models import Policy
from operators.base.links import list_url, text_link

MAX_POLICIES = 1_000  # newest policies to read, which bounds the cost


def linked_items(policy: Policy) -> QuerySet[Content]:
    """Return the items linked to the policy."""
    return Content.objects.of(policy.account_id).filter(policy_id=policy.pk)


def linked_hosts(policy: Policy) -> list[str]:
    """Return the hosts of the sites whose rules name the policy."""
    return sorted(set(policy.site_rules.values_list("site__host", flat=True)))


def items_sentence(number: int) -> str:
    if number == 0:
        return "No item links to it"
    return count_text(number, "item links to it", "items link to it")


def items_linked(policy: Policy, number: int) -> str:
    """Return the sentence with a link to the items."""
    if number == 0:
        return items_sentence(number)
    return text_link(list_url(Content, policy__id__exact=policy.pk), items_sentence(number))


def known_rules(account_ids: Iterable[str]) -> Iterator[RuleJson]:
    """Yield the rules of the newest MAX_POLICIES."""
    policies = Policy.objects.filter(account__in=account_ids, deleted_at=None)
    for rules in policies.order_by("-pk").values_list("rules", flat=True)[:MAX_POLICIES]:
        yield from rules


def condition_values(rule: RuleJson, condition: str) -> list[str]:
    """Return the values of a condition in a rule; empty without it."""
    values = rule["conditions"].get(condition, [])
    return list(map(str, values if isinstance(values, list) else [values]))


def known_permissions(account_ids: Iterable[str]) -> set[str]:
    """Return permissions that rules grant or require, without `full_access`, which nobody requests."""
    names: set[str] = set()
    for rule in known_rules(account_ids):
        names.update(rule.get("permissions") or (), condition_values(rule, "permission"))
    return names - {"full_access"}
