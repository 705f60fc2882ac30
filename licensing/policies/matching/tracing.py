"""Explain a decision: each rule, and why it did not match."""

from licensing.policies.decision import CompiledPolicy, effective_mode, translate_permission
from licensing.policies.facts import Facts
from licensing.policies.modes import Mode

MAX_TRACED_VALUES = 50  # of a condition, because a trace is for people and a batch may have a hundred


def shorten_values(values: object) -> object:
    if isinstance(values, dict):
        return {name: shorten_values(value) for name, value in values.items()}
    return values[:MAX_TRACED_VALUES] if isinstance(values, list) else values


def trace(policy: CompiledPolicy | None, facts: Facts) -> list[dict[str, object]]:
    """Return for each rule, in evaluation order, whether it matched or else which condition failed and on what.

    The first matching rule is `decisive`, unless an earlier step decided. If it is an allow rule that does not grant
    the requested permission, that is its failed condition: `wanted` is the permission, `actual` those it grants.
    """
    if policy is None or facts.archived or effective_mode(policy, facts) == Mode.DISABLED:
        return []
    facts = translate_permission(policy, facts)
    steps: list[dict[str, object]] = []
    is_decided = False
    for rule in policy.rules:
        failing = rule.first_failing(facts)
        is_decisive = failing is None and not is_decided
        failed: dict[str, object] | None = None
        if failing is not None:
            value = failing.value
            actual = failing.saw(facts)
            failed = {"condition": failing.name, "wanted": shorten_values(value), "saw": shorten_values(actual)}
        elif is_decisive and rule.action == "allow" and not rule.permits(facts):
            granted = shorten_values(list(rule.permissions))
            failed = {"condition": "permissions", "wanted": facts.permission, "saw": granted}
        steps.append(
            {
                "index": rule.index,
                "priority": rule.priority,
                "action": rule.action,
                "matched": failing is None,
                "decisive": is_decisive,
                "failed": failed,
            }
        )
        is_decided = is_decided or is_decisive
    return steps
