"""Lint with what the account's licences say."""

from datetime import datetime

from licensing.licenses.models import License
from licensing.policies.lint import Finding, lint
from licensing.policies.rules import Rule, parse_rules


def lint_policy(account_id: str, rules: object, default_action: str, now: datetime) -> list[Finding]:
    """The findings on rules as JSON. Raises Fault for what no policy can have."""
    parsed = parse_rules(rules)
    return lint(parsed, default_action, now, held_types(account_id, parsed))


def held_types(account_id: str, rules: tuple[Rule, ...]) -> set[str] | None:
    """Of the licence types that the rules name those of which there are licences; None for an account without any."""
    named = {name for rule in rules for name in rule.license_types or ()}
    licenses = License.objects.filter(account_id=account_id)
    if not named or not licenses.exists():
        return None
    return set(licenses.filter(license_type__in=named).values_list("license_type", flat=True).distinct())
