"""Differences between two states of a policy, field by field and rule by rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

import orjson

from licensing.policies.describe_rule import RuleJson
from licensing.policies.policy_tests import PolicyTest
from operators.policies.descriptions import describe_test, describe_with_place, rule_name
from operators.policies.rule_rows import in_evaluation_order


@dataclass(frozen=True, slots=True)
class Line:
    """A difference: `kind` is `added`, `removed`, `changed` or `same`; a missing side is empty."""

    kind: str
    what: str
    before: str = ""
    after: str = ""


class State(Protocol):
    """A policy or one of its revisions."""

    name: str
    description: str | None
    mode: str
    default_action: str
    rules: list[RuleJson]
    tests: list[PolicyTest]


def differences(before: State, after: State) -> list[Line]:
    """Return the differences between two states, field by field and rule by rule."""
    lines = [
        Line("changed", what, str(old or "–"), str(new or "–"))
        for what, old, new in (
            ("Name", before.name, after.name),
            ("Description", before.description, after.description),
            ("Mode", before.mode, after.mode),
            ("Otherwise", before.default_action, after.default_action),
        )
        if old != new and (old or new)
    ]
    lines += rule_differences(before.rules, after.rules)
    for test in before.tests:
        if test not in after.tests:
            lines.append(Line("removed", "Example", before=describe_test(test)))
    for test in after.tests:
        if test not in before.tests:
            lines.append(Line("added", "Example", after=describe_test(test)))
    return lines


def rule_differences(before: Sequence[RuleJson], after: Sequence[RuleJson]) -> list[Line]:
    """Compare rule by rule in evaluation order, including unchanged rules."""
    before, after = ([rule for _, rule in in_evaluation_order(rules)] for rules in (before, after))

    def keys(rules: Sequence[RuleJson]) -> list[bytes]:
        return [orjson.dumps(rule, option=orjson.OPT_SORT_KEYS) for rule in rules]

    lines = []
    for tag, first, last, begin, end in SequenceMatcher(None, keys(before), keys(after), False).get_opcodes():
        old = range(first, last)
        new = range(begin, end)
        if tag == "equal":
            lines += [Line("same", rule_name(index), after=describe_with_place(after[index])) for index in new]
            continue
        pairs = min(len(old), len(new))
        for old_at, new_at in zip(old, new, strict=False):
            moved = "" if old_at == new_at else f", now {new_at + 1}"
            sides = describe_with_place(before[old_at]), describe_with_place(after[new_at])
            lines.append(Line("changed", f"{rule_name(old_at)}{moved}", *sides))
        lines += [Line("removed", rule_name(at), before=describe_with_place(before[at])) for at in old[pairs:]]
        lines += [Line("added", rule_name(at), after=describe_with_place(after[at])) for at in new[pairs:]]
    return lines
