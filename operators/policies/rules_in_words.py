"""Rules in words, and what changed from one version of a policy to another. Pure: JSON in, text out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import orjson

from licensing.policies.conditions import IN_WORDS

Rule = Mapping[str, Any]


def describe(rule: Rule) -> str:
    """The rule as a sentence: "Allow if the licence is valid. Grants full_access. 100 times an hour.\""""
    conditions = rule["conditions"]
    told = [one.clause(conditions[one.name]) for one in IN_WORDS if one.name in conditions]
    start = "Allow" if rule["action"] == "allow" else "Deny"
    parts = [f"{start} always" if told == ["always"] else f"{start} if {' and '.join(told)}"]
    if rule["action"] == "allow":
        parts.append(f"Grants {', '.join(rule['permissions'])}" if rule.get("permissions") else "Grants no permission")
    if "rateLimit" in rule:
        limit = rule["rateLimit"]
        times = "Once" if limit["requests"] == 1 else f"{limit['requests']:,} times"
        parts.append(f"{times} {'an' if limit['period'] == 'hour' else 'a'} {limit['period']} for each requester")
    sentences = ". ".join(parts) + "."
    return f"{sentences} Says: “{rule['message']}”" if rule.get("message") else sentences


def place(rule: Rule) -> str:
    return f"priority {rule['priority']:,}" if "priority" in rule else "no priority, so last"


@dataclass(frozen=True, slots=True)
class Line:
    """A difference: `kind` is `added`, `removed`, `changed` or `same`; a side that is not there is empty."""

    kind: str
    what: str
    before: str = ""
    after: str = ""


def told(rule: Rule) -> str:
    return f"{describe(rule)} ({place(rule)})"


def differences(before: Any, after: Any) -> list[Line]:
    """What changed between two states of a policy, each with name, description, default_action and rules."""
    lines = [
        Line("changed", what, str(old or "–"), str(new or "–"))
        for what, old, new in (
            ("Name", before.name, after.name),
            ("Description", before.description, after.description),
            ("Otherwise", before.default_action, after.default_action),
        )
        if old != new and (old or new)
    ]
    return lines + rule_differences(before.rules, after.rules)


def rule_differences(before: Sequence[Rule], after: Sequence[Rule]) -> list[Line]:
    """Rule by rule, in the order of the later list; rules that stayed are among them."""

    def keys(rules: Sequence[Rule]) -> list[bytes]:
        return [orjson.dumps(rule, option=orjson.OPT_SORT_KEYS) for rule in rules]

    lines = []
    for tag, first, last, begin, end in SequenceMatcher(None, keys(before), keys(after), False).get_opcodes():
        old, new = range(first, last), range(begin, end)
        if tag == "equal":
            lines += [Line("same", f"Rule {index}", after=told(after[index])) for index in new]
            continue
        pairs = min(len(old), len(new))
        for one, other in zip(old, new, strict=False):
            what = f"Rule {one}" if one == other else f"Rule {one}, now {other}"
            lines.append(Line("changed", what, told(before[one]), told(after[other])))
        lines += [Line("removed", f"Rule {index}", before=told(before[index])) for index in old[pairs:]]
        lines += [Line("added", f"Rule {index}", after=told(after[index])) for index in new[pairs:]]
    return lines
