"""The `attributes` condition: JSON and test. Uses neither ORM nor HTTP."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import NamedTuple

from kit.openapi.components import COMPONENT
from kit.values.faults import Faults
from kit.values.metadata import KEY_RULE, match_key
from licensing.policies.condition_values import (
    MAX_VALUES,
    Fields,
    Schema,
    expect,
    parse_flag,
    parse_one_or_more,
)
from licensing.policies.matching.attributes import (
    KEYS,
    SCALARS,
    Value,
    parse_number,
    parse_value,
    require_attributes,
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


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The condition on one attribute: one of several values, or within bounds, or known at all."""

    allowed_values: ValueSet | None = None
    bounds: Mapping[str, Decimal] = field(default_factory=dict)
    exists: bool = True
    lower: Bound | None = None
    upper: Bound | None = None

    @classmethod
    def parse(cls, condition: object, path: str) -> "Comparison":
        """Raises Fault if `condition` is invalid."""
        if not isinstance(condition, Mapping):
            return cls(frozenset(map(typed_key, parse_one_or_more(condition, path, parse_value))))
        expect(bool(condition), path, f"Must name a comparison. {COMPARISON_RULE}")
        for name in condition:
            expect(name in OPERATORS, f"{path}.{name}", f"There is no such comparison. {COMPARISON_RULE}")
        fields = Fields(condition, path, OPERATORS, (), COMPARISON_RULE)
        bounds = {}
        for name in ORDER:
            if (bound := fields.read(name, parse_number, None)) is not None:
                bounds[name] = bound
        exists = fields.read("exists", parse_flag, True)
        fields.faults.expect(exists or not bounds, f"{path}.exists", "Must stand alone if it is false.")
        fields.faults.raise_first()
        lower = max(ranked_bounds(bounds, ("gte", "gt")), default=None)
        upper = min(ranked_bounds(bounds, ("lt", "lte")), default=None)
        return cls(None, bounds, exists, lower, upper)

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


def ranked_bounds(bounds: Mapping[str, Decimal], names: tuple[str, str]) -> list[Bound]:
    """Return the bounds of these comparisons, which are in the order of their rank."""
    return [Bound(bounds[name], names.index(name)) for name in names if name in bounds]


Comparisons = dict[str, Comparison]


def parse_comparisons(value: object, path: str = "") -> Comparisons:
    """Parse the condition. Raises Fault with everything that is invalid."""
    condition = require_attributes(value, path, CONDITION_RULE)
    expect(bool(condition), path, "Must name an attribute.")
    faults = Faults()
    comparisons = {}
    for name, comparison in condition.items():
        faults.expect(match_key(name) is not None, f"{path}.{name}", KEY_RULE)
        with faults:
            comparisons[name] = Comparison.parse(comparison, f"{path}.{name}")
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
                    "exists": {"type": "boolean", "const": True, "description": "The attribute is known."},
                },
            },
            {
                COMPONENT: "AttributeAbsence",
                "type": "object",
                "required": ["exists"],
                "additionalProperties": False,
                "properties": {
                    "exists": {"type": "boolean", "const": False, "description": "The attribute is unknown."}
                },
            },
        ]
    },
    "example": {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": False},
}
