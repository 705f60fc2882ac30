"""Lints policies, including checks against the account's licences."""

from datetime import datetime

from licensing.licenses.models import License
from licensing.policies.lint import Finding, lint
from licensing.policies.rules import Rule, parse_rules


def lint_policy(account_id: str, rules: object, default_action: str, now: datetime) -> list[Finding]:
    """Return the findings for rules given as JSON. Raises Fault for invalid rules."""
    parsed = parse_rules(rules)
    return lint(parsed, default_action, now, held_types(account_id, parsed))


def held_types(account_id: str, rules: tuple[Rule, ...]) -> set[str] | None:
    """Return the licence types in the rules that the account has licences of; None if it has no licences at all."""
    license_types = {name for rule in rules for name in rule.license_types or ()}
    licenses = License.objects.filter(account_id=account_id)
    if not license_types or not licenses.exists():
        return None
    return set(licenses.filter(license_type__in=license_types).values_list("license_type", flat=True).distinct())
