"""The `attributes` condition: JSON, test, wording and form text. Does not use the ORM."""

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from operator import ge, gt, le, lt

from kit.openapi.components import COMPONENT
from kit.values.faults import Faults
from kit.values.metadata import IS_KEY, KEY_PATTERN, KEY_RULE
from licensing.policies.condition_values import (
    MAX_VALUES,
    Fields,
    Schema,
    expect,
    join_alternatives,
    one_or_more,
    parse_flag,
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
WANTED_RULE = 'Must be an object such as {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": false}.'
COMPARISON_RULE = f"Known comparisons: {', '.join(OPERATORS)}."

Wanted = frozenset[tuple[bool, Value]]
Bound = tuple[Decimal, bool]


def kept_apart(value: Value) -> tuple[bool, Value]:
    """Return the value as a set member that distinguishes True from 1."""
    return isinstance(value, bool), value


class Comparison:
    """The condition on one attribute: one of several values, or within bounds, or known at all."""

    __slots__ = ("among", "bounds", "exists", "least", "most")

    def __init__(self, wanted: object, path: str) -> None:
        """Raises Fault if `wanted` is invalid."""
        self.among: Wanted | None = None
        self.bounds: dict[str, Decimal] = {}
        self.exists = True
        self.least: Bound | None = None  # the highest lower bound, and whether it is exclusive
        self.most: Bound | None = None  # the lowest upper bound, and whether it is inclusive
        if not isinstance(wanted, Mapping):
            self.among = frozenset(map(kept_apart, one_or_more(wanted, path, parse_value)))
            return
        expect(bool(wanted), path, f"Must name a comparison. {COMPARISON_RULE}")
        for name in wanted:
            expect(name in OPERATORS, f"{path}.{name}", f"There is no such comparison. {COMPARISON_RULE}")
        fields = Fields(wanted, path, OPERATORS, (), COMPARISON_RULE)
        for name in ORDER:
            if (bound := fields.read(name, parse_number, None)) is not None:
                self.bounds[name] = bound
        self.exists = fields.read("exists", parse_flag, True)
        fields.faults.expect(self.exists or not self.bounds, f"{path}.exists", "Must stand alone if it is false.")
        fields.faults.raise_first()
        if self.bounds:
            lower = [(self.bounds[name], name == "gt") for name in ("gte", "gt") if name in self.bounds]
            upper = [(self.bounds[name], name == "lte") for name in ("lte", "lt") if name in self.bounds]
            self.least, self.most = max(lower, default=None), min(upper, default=None)

    def holds(self, value: Value | None) -> bool:
        """Test a value; None means that the attribute is unknown."""
        if value is None:
            return not self.exists
        if self.among is not None:
            return kept_apart(value) in self.among
        if not self.bounds:
            return self.exists
        return isinstance(value, Decimal) and all(ORDER[name][0](value, bound) for name, bound in self.bounds.items())

    @property
    def never_holds(self) -> bool:
        """Whether no number lies between the bounds."""
        return self.least is not None and self.most is not None and self.least >= self.most

    def covers(self, other: "Comparison") -> bool:
        """Return whether this holds for every value the other holds for."""
        if not (self.exists and other.exists):
            return self.exists is other.exists
        if other.among is not None:
            return all(self.holds(value) for _, value in other.among)
        if self.among is not None:
            return False
        if not self.bounds:
            return True
        reaches_down = self.least is None or (other.least is not None and self.least <= other.least)
        reaches_up = self.most is None or (other.most is not None and self.most >= other.most)
        return bool(other.bounds) and reaches_down and reaches_up


Comparisons = dict[str, Comparison]


def parse_comparisons(value: object, path: str) -> Comparisons:
    """Parse the condition. Raises Fault with everything that is invalid."""
    wanted = parse_size(value, path, WANTED_RULE)
    expect(bool(wanted), path, "Must name an attribute.")
    faults, comparisons = Faults(), {}
    for name, one in wanted.items():
        faults.expect(IS_KEY(name) is not None, f"{path}.{name}", KEY_RULE)
        with faults:
            comparisons[name] = Comparison(one, f"{path}.{name}")
    faults.raise_first()
    return comparisons


def comparable_attributes(wanted: object) -> Comparisons:
    return parse_comparisons(wanted, "")


def covers_attributes(own: Comparisons, its: Comparisons) -> bool:
    """Return whether the first condition holds wherever the second does."""
    return all(name in its and one.covers(its[name]) for name, one in own.items())


def never_attributes(wanted: object) -> str:
    """Explain why no attributes can match; empty if some can."""
    names = [name for name, one in parse_comparisons(wanted, "").items() if one.never_holds]
    return f"No number lies between the bounds of {', '.join(names)}." if names else ""


WANTED_SCHEMA: Schema = {
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


def clause_of_attributes(wanted: object) -> str:
    """Describe the condition, as in "the customer's country is DE or AT and seats is at least 10".

    Attributes are sorted by name, because databases do not keep their order.
    """
    clauses = [clause for name, one in sorted(as_json(wanted).items()) for clause in attribute_phrases(name, one)]
    return f"the customer's {' and '.join(clauses)}"


def attribute_phrases(name: str, wanted: object) -> Iterable[str]:
    if not isinstance(wanted, dict):
        yield f"{name} is {join_alternatives([text_of_scalar(one) for one in listed(wanted)])}"
        return
    for operator in OPERATORS:
        if operator not in wanted:
            continue
        value = wanted[operator]
        if operator == "exists":
            yield f"{name} is {'known' if value else 'not known'}"
        else:
            yield f"{name} is {ORDER[operator][2]} {text_of_scalar(value)}"


def listed(wanted: object) -> list[object]:
    return wanted if isinstance(wanted, list) else [wanted]


def as_json(value: object) -> Json:
    return value if isinstance(value, dict) else {}


# --- As lines of a form ----------------------------------------------------------------------------------------------

LINE = re.compile(rf"({KEY_PATTERN})\s*(>=|<=|=|>|<)\s*(.+)").fullmatch
LINE_ON_EXISTENCE = re.compile(rf"({KEY_PATTERN})\s+(exists|missing)").fullmatch
FORM_RULE = "Write a line for each attribute: country = DE, AT or seats >= 10 or plan exists or plan missing."
BY_SIGN = {sign: name for name, (_, sign, _) in ORDER.items()}


def lines_of_condition(wanted: object) -> str:
    """Format the condition for a form, one comparison per line."""
    return "\n".join(line for name, one in as_json(wanted).items() for line in attribute_lines(name, one))


def attribute_lines(name: str, wanted: object) -> Iterable[str]:
    if not isinstance(wanted, dict):
        yield f"{name} = {', '.join(map(text_of_scalar, listed(wanted)))}"
        return
    for operator, value in wanted.items():
        if operator == "exists":
            yield f"{name} {'exists' if value else 'missing'}"
        else:
            yield f"{name} {ORDER[operator][1]} {text_of_scalar(value)}"


def read_condition(text: str) -> object:
    """Parse the lines of a form. Returns malformed text unchanged, for validation to reject."""
    wanted: Json = {}
    for line in filter(None, map(str.strip, re.split(r"[\r\n]", text))):
        try:
            name, said = read_line(line)
        except ValueError:
            return text
        before = wanted.get(name)
        if isinstance(said, dict) and isinstance(before, dict) and not said.keys() & before.keys():
            wanted[name] = {**before, **said}
        elif name in wanted:
            return text
        else:
            wanted[name] = said
    return wanted


def read_line(line: str) -> tuple[str, object]:
    if match := LINE_ON_EXISTENCE(line):
        return match[1], {"exists": match[2] == "exists"}
    if (match := LINE(line)) is None:
        raise ValueError(line)
    name, sign, rest = match.groups()
    if sign != "=":
        return name, {BY_SIGN[sign]: parse_scalar(rest)}
    values = [scalar_in_list(value) for value in split_list(rest)]
    if not values:
        raise ValueError(line)
    return name, values if len(values) > 1 else values[0]
