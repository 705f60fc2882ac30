"""Differences between two versions of a policy, in words. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

import orjson

from licensing.policies.in_words import Rule, describe
from licensing.policies.policy_tests import PolicyTest
from operators.policies.numbering import rule_name
from operators.policies.rule_order import in_evaluation_order
from operators.policies.tests_in_words import describe_test


def place(rule: Rule) -> str:
    return f"priority {rule['priority']:,}" if "priority" in rule else "no priority, so last"


@dataclass(frozen=True, slots=True)
class Line:
    """A difference: `kind` is `added`, `removed`, `changed` or `same`; a missing side is empty."""

    kind: str
    what: str
    before: str = ""
    after: str = ""


def describe_with_place(rule: Rule) -> str:
    return f"{describe(rule)} ({place(rule)})"


class State(Protocol):
    """A policy or one of its revisions."""

    name: str
    description: str | None
    mode: str
    default_action: str
    rules: list[Rule]
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
    return lines + rule_differences(before.rules, after.rules) + example_differences(before.tests, after.tests)


def example_differences(before: Sequence[PolicyTest], after: Sequence[PolicyTest]) -> list[Line]:
    """Return the added and removed examples."""
    gone = [Line("removed", "Example", before=describe_test(test)) for test in before if test not in after]
    return gone + [Line("added", "Example", after=describe_test(test)) for test in after if test not in before]


def rule_differences(before: Sequence[Rule], after: Sequence[Rule]) -> list[Line]:
    """Compare rule by rule in evaluation order, including unchanged rules."""
    before, after = ([rule for _, rule in in_evaluation_order(rules)] for rules in (before, after))

    def keys(rules: Sequence[Rule]) -> list[bytes]:
        return [orjson.dumps(rule, option=orjson.OPT_SORT_KEYS) for rule in rules]

    lines = []
    for tag, first, last, begin, end in SequenceMatcher(None, keys(before), keys(after), False).get_opcodes():
        old, new = range(first, last), range(begin, end)
        if tag == "equal":
            lines += [Line("same", rule_name(index), after=describe_with_place(after[index])) for index in new]
            continue
        pairs = min(len(old), len(new))
        for one, other in zip(old, new, strict=False):
            what = rule_name(one) if one == other else f"{rule_name(one)}, now {other + 1}"
            lines.append(Line("changed", what, describe_with_place(before[one]), describe_with_place(after[other])))
        lines += [Line("removed", rule_name(at), before=describe_with_place(before[at])) for at in old[pairs:]]
        lines += [Line("added", rule_name(at), after=describe_with_place(after[at])) for at in new[pairs:]]
    return lines
