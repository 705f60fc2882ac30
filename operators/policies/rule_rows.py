"""Rules as rows of a form: what was typed, to and from the JSON of rules.

A rule that was not touched keeps its JSON to the letter, for its rate limit is counted under that.
"""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from licensing.policies.conditions import Kind, names_of, values_of
from operators.base.fields import lines, one_line

LISTS = names_of(Kind.VALUES, Kind.CHOICES, Kind.NETWORKS)
FLAGS = names_of(Kind.FLAG)
MOMENTS = names_of(Kind.MOMENT)
CONDITION_FIELDS = ("default", *FLAGS, *LISTS, *MOMENTS)
FIELDS = ("action", "priority", *CONDITION_FIELDS, "permissions", "requests", "period", "message", "original")
IS_FIELD = re.compile(r"rules-(\d{1,4})-(\w+)").fullmatch
MAX_ROWS = 200  # more than a policy takes, so that the one too many is told of

RuleRow = dict[str, str]  # the text of each of FIELDS; what is not given is empty


# --- From rules ------------------------------------------------------------------------------------------------------


def row_of(rule: Mapping[str, Any]) -> RuleRow:
    """The row of a valid rule."""
    conditions, limit = rule["conditions"], rule.get("rateLimit", {})
    row = dict.fromkeys(FIELDS, "")
    row |= {name: "\n".join(values_of(conditions[name])) for name in LISTS if name in conditions}
    row |= {name: conditions[name] for name in MOMENTS if name in conditions}
    row |= {name: "yes" if conditions[name] else "no" for name in FLAGS if name in conditions}
    row |= {
        "action": rule["action"],
        "priority": str(rule.get("priority", "")),
        "default": "on" if "default" in conditions else "",
        "permissions": "\n".join(rule.get("permissions", [])),
        "requests": str(limit.get("requests", "")),
        "period": limit.get("period", ""),
        "message": rule.get("message", ""),
        "original": orjson.dumps(rule).decode(),
    }
    return row


NEW_ROW: RuleRow = {**dict.fromkeys(FIELDS, ""), "action": "allow"}


# --- From a form -----------------------------------------------------------------------------------------------------


def rows_of(data: Any) -> list[RuleRow]:
    """The rows that a form has sent, in the order of their numbers. `data` is a QueryDict."""
    rows: dict[int, RuleRow] = {}
    for name in data:
        match = IS_FIELD(name)
        if match and match[2] in FIELDS and (int(match[1]) in rows or len(rows) < MAX_ROWS):
            row = rows.setdefault(int(match[1]), dict.fromkeys(FIELDS, ""))
            row[match[2]] = "\n".join(data.getlist(name))
    return [rows[number] for number in sorted(rows)]


def rule_of(row: RuleRow) -> dict[str, Any]:
    """The rule that the row says, not yet validated: what is no number stays text, for validation to refuse."""
    conditions: dict[str, Any] = {}
    if row["default"]:
        conditions["default"] = True
    conditions |= {name: row[name] == "yes" for name in FLAGS if row[name]}
    for name in LISTS:
        if wanted := lines(row[name]):
            conditions[name] = wanted if len(wanted) > 1 else wanted[0]
    conditions |= {name: row[name].strip() for name in MOMENTS if row[name].strip()}
    rule: dict[str, Any] = {"action": row["action"], "conditions": conditions}
    if row["priority"].strip():
        rule["priority"] = number(row["priority"])
    if row["permissions"].strip():
        rule["permissions"] = lines(row["permissions"])
    if row["requests"].strip() or row["period"]:
        limit = {"requests": number(row["requests"]), "period": row["period"]}
        rule["rateLimit"] = {name: value for name, value in limit.items() if value != ""}
    if row["message"].strip():
        rule["message"] = row["message"].strip()
    return as_it_was(rule, row["original"])


def number(text: str) -> int | str:
    text = text.strip()
    return int(text) if re.fullmatch(r"\d{1,18}", text) else text


def as_it_was(rule: dict[str, Any], original: str) -> dict[str, Any]:
    """The original where the rule says the same, or the parts of it that do: a value is the list of it, an empty list
    is none, and both are read as a form reads them."""
    try:
        former = orjson.loads(original)
        shown = row_of(former)
        said = meaning(rule_of({**shown, "message": one_line(shown["message"]), "original": ""}))
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return rule
    says = meaning(rule)
    if says == said:
        return former
    return {name: former[name] if name in said and says[name] == said[name] else rule[name] for name in rule}


def meaning(rule: Mapping[str, Any]) -> dict[str, Any]:
    return {**rule, "conditions": {name: values_of(wanted) for name, wanted in rule["conditions"].items()}}


# --- Moving ----------------------------------------------------------------------------------------------------------


def edited(rows: list[RuleRow], step: str) -> list[RuleRow]:
    """The rows after a step of editing: `add`, `remove-3`, `up-3`, `down-3`; anything else leaves them."""
    rows = list(rows)
    if step == "add" and len(rows) < MAX_ROWS:
        return [*rows, dict(NEW_ROW)]
    action, _, text = step.partition("-")
    index = int(text) if text.isdecimal() and len(text) < 5 else -1
    if not 0 <= index < len(rows):
        return rows
    if action == "remove":
        del rows[index]
    elif action in ("up", "down"):
        rows.insert(max(index + (-1 if action == "up" else 1), 0), rows.pop(index))
    return rows


# The field of a row that an error's path is about: `[0].rateLimit.period` is at `period`.
def field_at(path: str) -> tuple[int | None, str]:
    """The number of the row and the name of its field; None for what is about the whole list, "" about a whole row."""
    match = re.match(r"\[(\d+)\]\.?(.*)", path)
    if match is None:
        return None, ""
    names = re.split(r"[.\[]", match[2])
    name = names[-1] if names[0] == "rateLimit" else names[1] if names[0] == "conditions" and names[1:] else names[0]
    return int(match[1]), {"rateLimit": "requests", "conditions": "default"}.get(name, name)
