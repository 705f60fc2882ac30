"""The `attributes` condition in words, and as the lines of a form. Uses neither ORM nor HTTP."""

import re
from collections.abc import Iterable

from kit.values.metadata import KEY_PATTERN
from licensing.policies.condition_values import as_list, join_alternatives
from licensing.policies.matching.attribute_conditions import OPERATORS, ORDER
from licensing.policies.matching.attributes import Json, parse_scalar, scalar_in_list, split_list, text_of_scalar

match_comparison_line = re.compile(rf"({KEY_PATTERN})\s*(>=|<=|=|>|<)\s*(.+)").fullmatch
match_existence_line = re.compile(rf"({KEY_PATTERN})\s+(exists|missing)").fullmatch
FORM_RULE = "Write a line for each attribute: country = DE, AT or seats >= 10 or plan exists or plan missing."
OPERATORS_BY_SIGN = {sign: operator for operator, (_, sign, _) in ORDER.items()}


def clause_of_attributes(condition: object) -> str:
    """Describe the condition, as in "the customer's country is DE or AT and seats is at least 10".

    Attributes are sorted by name, because databases do not keep their order.
    """
    clauses: list[str] = []
    for name, comparison in sorted(as_json(condition).items()):
        clauses += attribute_phrases(name, comparison)
    return f"the customer's {' and '.join(clauses)}"


def attribute_phrases(name: str, comparison: object) -> Iterable[str]:
    if not isinstance(comparison, dict):
        yield f"{name} is {join_alternatives([text_of_scalar(value) for value in as_list(comparison)])}"
        return
    for operator in OPERATORS:
        if operator not in comparison:
            continue
        value = comparison[operator]
        if operator == "exists":
            yield f"{name} is {'known' if value else 'not known'}"
        else:
            yield f"{name} is {ORDER[operator][2]} {text_of_scalar(value)}"


def as_json(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def lines_of_condition(condition: object) -> str:
    """Format the condition for a form, one comparison per line."""
    lines: list[str] = []
    for name, comparison in as_json(condition).items():
        lines += attribute_lines(name, comparison)
    return "\n".join(lines)


def attribute_lines(name: str, comparison: object) -> Iterable[str]:
    if not isinstance(comparison, dict):
        yield f"{name} = {', '.join(map(text_of_scalar, as_list(comparison)))}"
        return
    for operator, value in comparison.items():
        if operator == "exists":
            yield f"{name} {'exists' if value else 'missing'}"
        else:
            yield f"{name} {ORDER[operator][1]} {text_of_scalar(value)}"


def read_condition(text: str) -> object:
    """Parse the lines of a form. Returns malformed text unchanged, for validation to reject."""
    condition: Json = {}
    for line in filter(None, map(str.strip, re.split(r"[\r\n]", text))):
        try:
            name, comparison = read_line(line)
        except ValueError:
            return text
        earlier = condition.get(name)
        if isinstance(comparison, dict) and isinstance(earlier, dict) and not comparison.keys() & earlier.keys():
            condition[name] = {**earlier, **comparison}
        elif name in condition:
            return text
        else:
            condition[name] = comparison
    return condition


def read_line(line: str) -> tuple[str, object]:
    if match := match_existence_line(line):
        return match[1], {"exists": match[2] == "exists"}
    if (match := match_comparison_line(line)) is None:
        raise ValueError(line)
    name, sign, text = match.groups()
    if sign != "=":
        return name, {OPERATORS_BY_SIGN[sign]: parse_scalar(text)}
    values = [scalar_in_list(value) for value in split_list(text)]
    if not values:
        raise ValueError(line)
    return name, values if len(values) > 1 else values[0]
