"""Describe a decision in words: reason, charge, and trace with rules as sentences."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from kit.values.currencies import in_full
from kit.values.decimals import from_millionths
from licensing.access.deciding import Answer
from licensing.access.rendering import present
from licensing.policies.condition_values import ConditionKind
from licensing.policies.conditions import CONDITIONS
from licensing.policies.decision import Reason
from licensing.policies.describe_rule import RuleJson, describe_rule
from licensing.policies.facts import value_in_words
from licensing.policies.models import PolicyRevision


class Failed(TypedDict):
    condition: str
    wanted: object
    saw: object


class Step(TypedDict):
    """The members of a trace step that are used here (licensing.policies.decision.trace)."""

    index: int
    decisive: bool
    matched: bool
    failed: Failed | None


class DescribedStep(Step):
    rule_text: str
    outcome: str


class DescribedDecision(TypedDict):
    decision: Mapping[str, object]  # the decision object of the API
    reason: str  # of a denial, else empty
    charge: str  # what the access costs; empty if nothing
    steps: list[DescribedStep]  # of its trace


def describe_decision(answer: Answer, rules: Sequence[RuleJson]) -> DescribedDecision:
    """Describe the decision, with these rules as sentences."""
    shown = present(answer, explain=True)
    reason = answer.decision.observed or answer.decision.reason
    price = answer.decision.price
    return {
        "decision": shown,
        "reason": Reason(reason).words if reason else "",
        "charge": in_full(from_millionths(price[0]), price[1]) if price else "",
        "steps": [
            DescribedStep(
                index=step["index"],
                decisive=step["decisive"],
                matched=step["matched"],
                failed=step["failed"],
                rule_text=describe_rule(rules[step["index"]]),
                outcome=describe_outcome(step),
            )
            for step in shown["trace"]
        ],
    }


def find_deciding_revision(answer: Answer) -> PolicyRevision | None:
    """Return the policy revision that decided, with its policy; None without a policy, and for a proposed one."""
    compiled = answer.policy
    if compiled is None or compiled.version is None:
        return None
    rows = PolicyRevision.objects.select_related("policy")
    return rows.get(policy_id=compiled.id, version=compiled.version)


def describe_outcome(step: Step) -> str:
    """Describe the result of a rule in the trace."""
    failed = step["failed"]
    if failed is None:
        return "Decides." if step["decisive"] else "Matches too, after the one that decides."
    required, actual = describe_required(failed), value_in_words(failed["saw"])
    if step["decisive"]:
        return f"Decides. It grants {actual}, not {required}."
    return f"Does not match: {failed['condition']} wants {required}, saw {actual}."


def describe_required(failed: Failed) -> str:
    condition = CONDITIONS.get(failed["condition"])
    if condition is not None and condition.kind is ConditionKind.OTHER:
        return condition.in_words(failed["wanted"])
    return value_in_words(failed["wanted"])
