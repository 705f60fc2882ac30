"""Policies from rules as JSON."""

from typing import Any

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import parse_rules


def compiled(rules: list[dict[str, Any]], default_action: str) -> CompiledPolicy:
    return CompiledPolicy.of("pol_any", 1, default_action, parse_rules(rules))
