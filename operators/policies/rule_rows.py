"""Converts rules from JSON to rows of form text and back.

An unchanged rule keeps its exact JSON, because its rate limit is counted under that.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

import orjson
from django.http import QueryDict

from kit.values.faults import Fault
from licensing.policies.condition_values import ConditionKind, as_list
from licensing.policies.conditions import CONDITIONS, condition_names
from licensing.policies.describe_rule import RuleJson
from licensing.policies.rules import MAX_PRIORITY
from operators.base.fields import one_line, split_lines

PRIORITY_STEP = 10  # distance of priorities, leaving room for new rules
RuleRow = dict[str, str]  # text of each of FIELDS, or empty
SortKey = tuple[bool, int, bool, int]
FLAGS = condition_names(ConditionKind.FLAG)
MOMENTS = condition_names(ConditionKind.MOMENT)
OTHERS = condition_names(ConditionKind.OTHER)
CONDITION_FIELDS = (
    "default", *FLAGS, *condition_names(ConditionKind.VALUES, ConditionKind.CHOICES, ConditionKind.NETWORKS),
    *MOMENTS, *OTHERS,
)  # fmt: skip
FIELDS = ("action", "priority", *CONDITION_FIELDS, "permissions", "requests", "period", "per",
          "amount", "currency", "message", "original")  # fmt: skip
match_field_name = re.compile(r"rules-(\d{1,4})-(\w+)").fullmatch
MAX_ROWS = 200  # more than a policy allows, so that validation reports the excess
MAX_TYPED = 50_000  # characters of a condition
# Where to show an error about a group of fields.
ERROR_FIELDS = {"rateLimit": "requests", "pricePerAccess": "amount", "conditions": "default"}


def sort_key(priority: int | None, action: str, index: int) -> SortKey:
    return priority is None, priority or 0, action != "deny", index


def in_evaluation_order(rules: Sequence[RuleJson]) -> list[tuple[int, RuleJson]]:
    """Return the rules in evaluation order, each with its index in the list."""
    return sorted(enumerate(rules), key=lambda pair: sort_key(pair[1].get("priority"), pair[1]["action"], pair[0]))


def in_order(rows: list[RuleRow]) -> list[RuleRow]:
    """Sort rows by evaluation order; rows without a priority follow the row before.

    Changes priorities only if necessary. Rows with invalid priorities stay unchanged.
    """
    texts = [row["priority"].strip() for row in rows]
    if not all(text == "" or (text.isdecimal() and text.isascii() and len(text) < 8) for text in texts):
        return rows
    given_priorities = [int(text) if text else None for text in texts]
    order = by_place(rows, given_priorities, range(len(rows)))
    if order == list(range(len(rows))):
        return rows
    arranged = [index for index in order if given_priorities[index] is not None]
    for index, priority in enumerate(given_priorities):
        if priority is None:
            arranged.insert(arranged.index(index - 1) + 1 if index else 0, index)
    priorities = [given_priorities[index] for index in arranged]
    if by_place(rows, given_priorities, arranged) != arranged:
        priorities = fill_priorities(priorities)
    return [
        {**rows[index], "priority": "" if priority is None else str(priority)}
        for index, priority in zip(arranged, priorities, strict=True)
    ]


def by_place(rows: list[RuleRow], priorities: list[int | None], indexes: Sequence[int]) -> list[int]:
    order = {index: sort_key(priorities[index], rows[index]["action"], at) for at, index in enumerate(indexes)}
    return sorted(indexes, key=order.__getitem__)


def fill_priorities(priorities: list[int | None]) -> list[int | None]:
    """Fill in missing priorities in ascending order; renumber all if there is no room."""
    result: list[int | None] = []
    low, waiting = 0, 0
    for priority in [*priorities, None]:
        if priority is None and len(result) + waiting < len(priorities):
            waiting += 1
            continue
        high = low + PRIORITY_STEP * (waiting + 1) if priority is None else priority
        if waiting and high - low <= waiting:
            break
        result += [low + (high - low) * (number + 1) // (waiting + 1) for number in range(waiting)]
        if priority is not None:
            result.append(priority)
            low = priority
            waiting = 0
    if len(result) == len(priorities) and max(priority or 0 for priority in result) <= MAX_PRIORITY:
        return result
    return [PRIORITY_STEP * (number + 1) for number in range(len(priorities))]


# --- From rules ------------------------------------------------------------------------------------------------------


def rule_row(rule: RuleJson) -> RuleRow:
    """Return the row of a valid rule."""
    limit = rule.get("rateLimit")
    price = rule.get("pricePerAccess")
    row = dict.fromkeys(FIELDS, "")
    row |= {name: condition_text(name, value) for name, value in rule["conditions"].items()}
    row |= {
        "action": rule["action"],
        "priority": str(rule.get("priority", "")),
        "permissions": "\n".join(rule.get("permissions", [])),
        "message": rule.get("message", ""),
        "original": orjson.dumps(rule).decode(),
    }
    if limit:
        row |= {"requests": str(limit["requests"]), "period": limit["period"], "per": limit.get("per", "")}
    if price:
        row |= {"amount": str(price["amount"]), "currency": price["currency"]}
    return row


def condition_text(name: str, value: object) -> str:
    match CONDITIONS[name].kind:
        case ConditionKind.ALWAYS:
            return "on"
        case ConditionKind.FLAG:
            return "yes" if value else "no"
        case ConditionKind.MOMENT | ConditionKind.OTHER:
            return CONDITIONS[name].text(value)
        case _:
            return "\n".join(as_list(value))


NEW_ROW: RuleRow = {**dict.fromkeys(FIELDS, ""), "action": "allow"}


# --- From a form -----------------------------------------------------------------------------------------------------


def submitted_rows(data: QueryDict) -> list[RuleRow]:
    """Return the rows of a submitted form, by number."""
    rows: dict[int, RuleRow] = {}
    for name in data:
        match = match_field_name(name)
        if match and match[2] in FIELDS and (int(match[1]) in rows or len(rows) < MAX_ROWS):
            row = rows.setdefault(int(match[1]), dict.fromkeys(FIELDS, ""))
            row[match[2]] = "\n".join(data.getlist(name))
    return [rows[number] for number in sorted(rows)]


def row_rule(row: RuleRow) -> dict[str, object]:
    """Return a row's rule without validating it: invalid numbers stay text for the validation to report."""
    conditions = {name: read_condition(name, row[name]) for name in CONDITION_FIELDS if row[name].strip()}
    rule: dict[str, object] = {"action": row["action"], "conditions": conditions}
    if row["priority"].strip():
        rule["priority"] = number(row["priority"])
    if row["permissions"].strip():
        rule["permissions"] = split_lines(row["permissions"])
    if row["requests"].strip() or row["period"]:
        limit = {"requests": number(row["requests"]), "period": row["period"], "per": row["per"]}
        rule["rateLimit"] = {name: value for name, value in limit.items() if value != ""}
    if row["amount"].strip() or row["currency"].strip():
        price = {"amount": row["amount"].strip(), "currency": row["currency"].strip()}
        rule["pricePerAccess"] = {name: value for name, value in price.items() if value}
    if row["message"].strip():
        rule["message"] = row["message"].strip()
    return as_it_was(rule, row["original"])


def read_condition(name: str, text: str) -> object:
    """Parse the text of a condition's field. A text that is too long stays one, for the validation to report."""
    match CONDITIONS[name].kind:
        case ConditionKind.ALWAYS:
            return True
        case ConditionKind.FLAG:
            return text == "yes"
        case ConditionKind.MOMENT:
            return text.strip()
        case ConditionKind.OTHER:
            return CONDITIONS[name].read_text(text) if len(text) <= MAX_TYPED else text
        case _:
            values = split_lines(text)
            return values if len(values) > 1 else values[0]


def number(text: str) -> int | str:
    text = text.strip()
    return int(text) if re.fullmatch(r"\d{1,18}", text) else text


def as_it_was(rule: dict[str, object], original: str) -> dict[str, object]:
    """Return the original JSON of the rule, or of its parts, where the meaning is unchanged.

    A single value means the same as a list of it, an empty list the same as none, and texts are compared as a form
    reads them.
    """
    try:
        former: dict[str, object] = orjson.loads(original)
        row = rule_row(cast(RuleJson, former))
        former_meaning = meaning(row_rule({**row, "message": one_line(row["message"]), "original": ""}))
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return rule
    says = meaning(rule)
    if says == former_meaning:
        return former
    return {
        name: former[name] if name in former_meaning and says[name] == former_meaning[name] else rule[name]
        for name in rule
    }


def meaning(rule: Mapping[str, object]) -> dict[str, object]:
    conditions = rule["conditions"]
    if not isinstance(conditions, dict):
        raise TypeError("A rule's conditions must be an object.")
    return {**rule, "conditions": {name: as_list(value) for name, value in conditions.items()}}


# --- Errors ----------------------------------------------------------------------------------------------------------


# The row's field for an error path: `[0].rateLimit.period` is at `period`.
def field_at(path: str) -> tuple[int | None, str]:
    """Return row number and field name; the number is None for the whole list, the name "" for a whole row."""
    match = re.match(r"\[(\d+)\]\.?(.*)", path)
    if match is None:
        return None, ""
    names = re.split(r"[.\[]", match[2])
    name = names[0]
    if name in ("rateLimit", "pricePerAccess"):
        name = names[-1]
    elif name == "conditions" and len(names) > 1:
        name = names[1]
    return int(match[1]), ERROR_FIELDS.get(name, name)


def message_in_form(fault: Fault, rules: Sequence[Mapping[str, object]]) -> str:
    """Return the fault's message or, for a malformed condition, how to type it."""
    index, name = field_at(fault.path)
    conditions = rules[index]["conditions"] if index is not None and name in OTHERS else None
    text = conditions.get(name) if isinstance(conditions, Mapping) else None
    if not isinstance(text, str):
        return fault.message
    if len(text) <= MAX_TYPED:
        return CONDITIONS[name].form_rule
    return f"Must have at most {MAX_TYPED:,} characters."
