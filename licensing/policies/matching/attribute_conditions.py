"""The `attributes` condition: JSON, test, wording and form text. Does not use the ORM."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import NamedTuple

from kit.openapi.components import COMPONENT
from kit.values.faults import Faults
from kit.values.metadata import KEY_PATTERN, KEY_RULE, match_key
from licensing.policies.condition_values import (
    MAX_VALUES,
    Fields,
    Schema,
    expect,
    join_alternatives,
    parse_flag,
    parse_one_or_more,
)
from licensing.policies.matching.attributes import (
    KEYS,
    SCALARS,
    Json,
    Value,
    parse_number,
    parse_scalar,
    parse_size,
    parse_value,
    scalar_in_list,
    split_list,
    text_of_scalar,
)

ORDER: dict[str, tuple[Callable[[Decimal, Decimal], bool], str, str]] = {
    "gte": (ge, ">=", "at least"),
    "gt": (gt, ">", "more than"),
    "lte": (le, "<=", "at most"),
    "lt": (lt, "<", "less than"),
}
OPERATORS = (*ORDER, "exists")
CONDITION_RULE = 'Must be an object such as {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": false}.'
COMPARISON_RULE = f"Known comparisons: {', '.join(OPERATORS)}."

ValueSet = frozenset[tuple[bool, Value]]


class Bound(NamedTuple):
    """A bound on numbers. Of bounds with the same value, `rank` sorts ">= 5" before "> 5", "< 5" before "<= 5"."""

    value: Decimal
    rank: int


def typed_key(value: Value) -> tuple[bool, Value]:
    """Return the value as a set member that distinguishes True from 1."""
    return isinstance(value, bool), value


class Comparison:
    """The condition on one attribute: one of several values, or within bounds, or known at all."""

    __slots__ = ("allowed_values", "bounds", "exists", "lower", "upper")

    def __init__(self, condition: object, path: str) -> None:
        """Raises Fault if `condition` is invalid."""
        self.allowed_values: ValueSet | None = None
        self.bounds: dict[str, Decimal] = {}
        self.exists = True
        self.lower: Bound | None = None
        self.upper: Bound | None = None
        if not isinstance(condition, Mapping):
            self.allowed_values = frozenset(map(typed_key, parse_one_or_more(condition, path, parse_value)))
            return
        expect(bool(condition), path, f"Must name a comparison. {COMPARISON_RULE}")
        for name in condition:
            expect(name in OPERATORS, f"{path}.{name}", f"There is no such comparison. {COMPARISON_RULE}")
        fields = Fields(condition, path, OPERATORS, (), COMPARISON_RULE)
        for name in ORDER:
            if (bound := fields.read(name, parse_number, None)) is not None:
                self.bounds[name] = bound
        self.exists = fields.read("exists", parse_flag, True)
        fields.faults.expect(self.exists or not self.bounds, f"{path}.exists", "Must stand alone if it is false.")
        fields.faults.raise_first()
        if self.bounds:
            self.lower = max(self.ranked_bounds(("gte", "gt")), default=None)
            self.upper = min(self.ranked_bounds(("lt", "lte")), default=None)

    def ranked_bounds(self, names: tuple[str, str]) -> list[Bound]:
        """Return the given bounds of these comparisons, which are in the order of their rank."""
        return [Bound(self.bounds[name], names.index(name)) for name in names if name in self.bounds]

    def holds(self, value: Value | None) -> bool:
        """Test a value; None means that the attribute is unknown."""
        if value is None:
            return not self.exists
        if self.allowed_values is not None:
            return typed_key(value) in self.allowed_values
        if not self.bounds:
            return self.exists
        return isinstance(value, Decimal) and all(ORDER[name][0](value, bound) for name, bound in self.bounds.items())

    @property
    def never_holds(self) -> bool:
        """Whether no number lies between the bounds."""
        return self.lower is not None and self.upper is not None and self.lower >= self.upper

    def covers(self, other: "Comparison") -> bool:
        """Return whether this holds for every value the other holds for."""
        if not (self.exists and other.exists):
            return self.exists is other.exists
        if other.allowed_values is not None:
            return all(self.holds(value) for _, value in other.allowed_values)
        if self.allowed_values is not None:
            return False
        if not self.bounds:
            return True
        reaches_down = self.lower is None or (other.lower is not None and self.lower <= other.lower)
        reaches_up = self.upper is None or (other.upper is not None and self.upper >= other.upper)
        return bool(other.bounds) and reaches_down and reaches_up


Comparisons = dict[str, Comparison]


def parse_comparisons(value: object, path: str = "") -> Comparisons:
    """Parse the condition. Raises Fault with everything that is invalid."""
    condition = parse_size(value, path, CONDITION_RULE)
    expect(bool(condition), path, "Must name an attribute.")
    faults = Faults()
    comparisons = {}
    for name, comparison in condition.items():
        faults.expect(match_key(name) is not None, f"{path}.{name}", KEY_RULE)
        with faults:
            comparisons[name] = Comparison(comparison, f"{path}.{name}")
    faults.raise_first()
    return comparisons


def covers_attributes(condition: Comparisons, other: Comparisons) -> bool:
    """Return whether the first condition holds wherever the second does."""
    return all(name in other and comparison.covers(other[name]) for name, comparison in condition.items())


def never_attributes(condition: object) -> str:
    """Explain why no attributes can match; empty if some can."""
    comparisons = parse_comparisons(condition)
    names = [name for name, comparison in comparisons.items() if comparison.never_holds]
    return f"No number lies between the bounds of {', '.join(names)}." if names else ""


CONDITION_SCHEMA: Schema = {
    "type": "object",
    "minProperties": 1,
    **KEYS,
    "additionalProperties": {
        "anyOf": [
            *SCALARS,
            {
                COMPONENT: "AttributeValues",
                "type": "array",
                "items": {"anyOf": SCALARS},
                "minItems": 1,
                "maxItems": MAX_VALUES,
            },
            {
                COMPONENT: "AttributeComparison",
                "type": "object",
                "minProperties": 1,
                "additionalProperties": False,
                "properties": {
                    **{
                        name: {"type": "number", "description": f"The attribute is a number and {words} this."}
                        for name, (_, _, words) in ORDER.items()
                    },
                    "exists": {
                        "type": "boolean",
                        "description": "Whether the attribute is known; false stands alone.",
                    },
                },
            },
        ]
    },
    "example": {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": False},
}

# --- In words --------------------------------------------------------------------------------------------------------


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
        yield f"{name} is {join_alternatives([text_of_scalar(value) for value in value_list(comparison)])}"
        return
    for operator in OPERATORS:
        if operator not in comparison:
            continue
        value = comparison[operator]
        if operator == "exists":
            yield f"{name} is {'known' if value else 'not known'}"
        else:
            yield f"{name} is {ORDER[operator][2]} {text_of_scalar(value)}"


def value_list(values: object) -> list[object]:
    return values if isinstance(values, list) else [values]


def as_json(value: object) -> Json:
    return value if isinstance(value, dict) else {}


# --- As lines of a form ----------------------------------------------------------------------------------------------

match_comparison_line = re.compile(rf"({KEY_PATTERN})\s*(>=|<=|=|>|<)\s*(.+)").fullmatch
match_existence_line = re.compile(rf"({KEY_PATTERN})\s+(exists|missing)").fullmatch
FORM_RULE = "Write a line for each attribute: country = DE, AT or seats >= 10 or plan exists or plan missing."
BY_SIGN = {sign: name for name, (_, sign, _) in ORDER.items()}


def lines_of_condition(condition: object) -> str:
    """Format the condition for a form, one comparison per line."""
    lines: list[str] = []
    for name, comparison in as_json(condition).items():
        lines += attribute_lines(name, comparison)
    return "\n".join(lines)


def attribute_lines(name: str, comparison: object) -> Iterable[str]:
    if not isinstance(comparison, dict):
        yield f"{name} = {', '.join(map(text_of_scalar, value_list(comparison)))}"
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
        return name, {BY_SIGN[sign]: parse_scalar(text)}
    values = [scalar_in_list(value) for value in split_list(text)]
    if not values:
        raise ValueError(line)
    return name, values if len(values) > 1 else values[0]
