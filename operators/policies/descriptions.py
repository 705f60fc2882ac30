"""Rules and tests of policies in words. Pure functions.

The admin counts rules from 1; the API counts from 0, in `matchedRule` and paths as `rules[0]`.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from msgspec import Struct

from kit.values.faults import Fault
from licensing.policies.describe_rule import RuleJson, describe_rule
from licensing.policies.facts import DEFAULTS
from licensing.policies.lint import lint
from licensing.policies.policy_tests import PolicyTest, RequesterOfTest, render_expectation, specified_facts
from licensing.policies.rules import parse_rule, parse_rules
from operators.policies.rule_rows import RuleRow, in_order, message_in_form, row_rule

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


def describe_with_place(rule: RuleJson) -> str:
    return f"{describe_rule(rule)} ({describe_place(rule)})"


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
        if place := IN_API.match(finding.path):
            row = arranged[int(place[1])]
            messages[int(row["row"])].append(with_rule_names(finding.message))
    return messages
