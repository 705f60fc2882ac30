"""An unsaved form's rules in words, with lint findings. Pure functions."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from msgspec import Struct

from kit.values.faults import Fault
from licensing.policies.in_words import Rule, describe
from licensing.policies.lint import lint
from licensing.policies.rules import parse_rule, parse_rules
from operators.policies.numbering import with_rule_names
from operators.policies.rule_order import in_order
from operators.policies.rule_rows import RuleRow, message_in_form, rule_of
from operators.policies.rules_in_words import place


class RuleInWords(Struct, frozen=True):
    """A rule in words; `place` is empty if its priority is not set."""

    sentence: str
    place: str = ""
    is_complete: bool = True


def sentence_of(row: RuleRow) -> RuleInWords:
    rule = rule_of(row)
    try:
        parse_rule(rule, 0)
    except Fault as error:
        empty = not rule["conditions"]
        return RuleInWords(
            "A new rule: choose its conditions." if empty else f"Not complete: {message_in_form(error, [rule])}",
            "",
            False,
        )
    valid = cast(Rule, rule)
    return RuleInWords(describe(valid), place(valid) if "priority" in valid else "")


def findings_of(rows: Sequence[RuleRow], default_action: str, now: datetime) -> list[list[str]]:
    """Return each row's lint findings, as it would be saved; none while any rule is incomplete."""
    told: list[list[str]] = [[] for _ in rows]
    arranged = in_order([{**row, "row": str(number)} for number, row in enumerate(rows)])
    try:
        rules = parse_rules([rule_of(row) for row in arranged])
    except Fault:
        return told
    for finding in lint(rules, default_action, now):
        for index, row in enumerate(arranged):
            if f"{finding.path}.".startswith((f"rules[{index}].",)):
                told[int(row["row"])].append(with_rule_names(finding.message))
    return told
