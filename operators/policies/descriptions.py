"""Rules, tests and versions of policies in words. Pure functions.

The admin counts rules from 1; the API counts from 0, in `matchedRule` and paths as `rules[0]`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from typing import Protocol, cast

import orjson
from msgspec import Struct

from kit.values.faults import Fault
from licensing.policies.describe_rule import RuleJson, describe_rule
from licensing.policies.facts import DEFAULTS
from licensing.policies.lint import lint
from licensing.policies.policy_tests import PolicyTest, RequesterOfTest, render_expectation, specified_facts
from licensing.policies.rules import parse_rule, parse_rules
from operators.policies.rule_rows import RuleRow, in_evaluation_order, in_order, message_in_form, row_rule

IN_API = re.compile(r"rules\[(\d+)\](?:\.(\S+))?")


def rule_name(index: int) -> str:
    """Return the name of the rule at this index of the policy's rules."""
    return f"Rule {index + 1}"


def with_rule_names(text: str) -> str:
    """Replace the API's paths in a sentence: `rules[0]` by "rule 1"."""
    return IN_API.sub(lambda match: f"rule {int(match[1]) + 1}", text)


def place_in_words(path: str) -> str:
    """Return what a path names: "Rule 1, conditions.tags" for `rules[0].conditions.tags`; other paths as they are."""
    match = IN_API.fullmatch(path)
    if match is None:
        return path
    return ", ".join(filter(None, (rule_name(int(match[1])), match[2])))


def describe_test(test: PolicyTest) -> str:
    """Describe the test as in `org_acme, with a valid licence of type press, asks for read of a report: denied.`"""
    kind = str((test.get("content") or {}).get("type") or DEFAULTS["content_type"])
    item = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    asks = f"asks for {test['permission']} of" if test.get("permission") else "asks for"
    fact_words = "".join(
        f" {fact.words.format(fact.text(value))}" for fact, value in specified_facts(test) if fact.words
    )
    when = f" at {test['at']}" if test.get("at") else ""
    expected = with_rule_names(render_expectation(test["expect"]))
    return f"{describe_requester(test['requester'])} {asks} {item}{fact_words}{when}: {expected}."


def describe_requester(requester: RequesterOfTest) -> str:
    licenses = []
    for license_ in requester.get("licenses") or ():
        end = license_.get("expiresAt")
        licenses.append(f"{license_['licenseType']} until {end}" if end else license_["licenseType"])
    if licenses:
        return f"{requester['id']}, who holds a licence of type {' and '.join(licenses)},"
    kind = f" of type {requester['licenseType']}" if requester.get("licenseType") else ""
    if requester.get("hasValidLicense"):
        return f"{requester['id']}, with a valid licence{kind},"
    if kind:
        return f"{requester['id']}, who names a licence{kind},"
    return f"{requester['id']}, without a licence,"


def describe_place(rule: RuleJson) -> str:
    return f"priority {rule['priority']:,}" if "priority" in rule else "no priority, so last"


@dataclass(frozen=True, slots=True)
class Line:
    """A difference: `kind` is `added`, `removed`, `changed` or `same`; a missing side is empty."""

    kind: str
    what: str
    before: str = ""
    after: str = ""


def describe_with_place(rule: RuleJson) -> str:
    return f"{describe_rule(rule)} ({describe_place(rule)})"


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
        for line, other in zip(old, new, strict=False):
            if line == other:
                what = rule_name(line)
            else:
                what = f"{rule_name(line)}, now {other + 1}"
            lines.append(Line("changed", what, describe_with_place(before[line]), describe_with_place(after[other])))
        lines += [Line("removed", rule_name(at), before=describe_with_place(before[at])) for at in old[pairs:]]
        lines += [Line("added", rule_name(at), after=describe_with_place(after[at])) for at in new[pairs:]]
    return lines


class RuleInWords(Struct, frozen=True):
    """A rule in words; `place` is empty if its priority is not set."""

    sentence: str
    place: str = ""
    is_complete: bool = True


def describe_row(row: RuleRow) -> RuleInWords:
    rule = row_rule(row)
    try:
        parse_rule(rule, 0)
    except Fault as error:
        sentence = "A new rule: choose its conditions."
        if rule["conditions"]:
            sentence = f"Not complete: {message_in_form(error, [rule])}"
        return RuleInWords(sentence, is_complete=False)
    valid = cast(RuleJson, rule)
    return RuleInWords(describe_rule(valid), describe_place(valid) if "priority" in valid else "")


def lint_rows(rows: Sequence[RuleRow], default_action: str, now: datetime) -> list[list[str]]:
    """Return each row's lint findings, as it would be saved; none while any rule is incomplete."""
    messages: list[list[str]] = [[] for _ in rows]
    arranged = in_order([{**row, "row": str(number)} for number, row in enumerate(rows)])
    try:
        rules = parse_rules([row_rule(row) for row in arranged])
    except Fault:
        return messages
    for finding in lint(rules, default_action, now):
        for index, row in enumerate(arranged):
            if f"{finding.path}.".startswith((f"rules[{index}].",)):
                messages[int(row["row"])].append(with_rule_names(finding.message))
    return messages
