"""List filters: `field=value` and `field[op]=value` (docs/reference/api.md, Lists and filters).

A list declares its operands. Other parameters are rejected, because a typo must not return everything.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Protocol

import django_filters
from django import forms
from django.db.models import Q, QuerySet
from django.db.models.lookups import GreaterThanOrEqual, LessThan
from django.http import QueryDict
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema_field
from rest_framework.request import Request

from kit.http.errors import InvalidRequest
from kit.rest.resources import id_hint
from kit.storage.code_points import after_prefix, by_code_point
from kit.values import ids
from kit.values.suggestions import MAX_SHOWN, did_you_mean
from kit.values.timestamps import MOMENT_SCHEMA, parse_date, parse_day_end, parse_timestamp

MAX_MEMBERS = 100
SEPARATOR = re.compile(r"(?<!\\),")
EQUALITY = ("eq", "ne", "in")
ORDER = ("eq", "ne", "gt", "gte", "lt", "lte", "in")
PREFIX = (*EQUALITY, "startsWith")
LOOKUPS = {"eq": "exact", "ne": "exact", "in": "in", "gt": "gt", "gte": "gte", "lt": "lt", "lte": "lte"}
DESCRIPTIONS = {
    "eq": "`{name}` equals this value.",
    "ne": "`{name}` differs from this value or is null.",
    "in": "`{name}` equals one of these values: separated by commas (in a value: `\\,`), or the parameter repeated.",
    "gt": "`{name}` is greater than this value.",
    "gte": "`{name}` is at least this value.",
    "lt": "`{name}` is less than this value.",
    "lte": "`{name}` is at most this value.",
    "exists": "`true`: `{name}` has a value; `false`: it has none.",
    "startsWith": "`{name}` begins with this text, case-sensitive.",
    "prefix": "`{name}` begins with this text, case-sensitive.",
}
MIDNIGHT = " A date without a time is its midnight UTC."
DAY_OPERATOR_NOTES = {
    "eq": MIDNIGHT,
    "ne": MIDNIGHT,
    "in": MIDNIGHT,
    "gt": " A date without a time: later than that UTC day.",
    "gte": " A date without a time: from that UTC day on.",
    "lt": " A date without a time: before that UTC day.",
    "lte": " A date without a time: up to and with that UTC day.",
}


@dataclass(frozen=True)
class ParameterKind:
    """How a parameter is parsed (`parse` raises ValueError) and described in the OpenAPI document.

    If the text covers a range, such as a day, `parse_last` returns its last value as the operand of `gt` and `lte`.
    """

    parse: Callable[[str], object]
    schema: dict[str, object]
    parse_last: Callable[[str], object] | None = None

    def parser(self, operator: str) -> Callable[[str], object]:
        return self.parse_last if self.parse_last and operator in ("gt", "lte") else self.parse


def parse_integer(value: str) -> int:
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 10):
        raise ValueError("Must be an integer of at most 10 digits.")
    return int(value)


def parse_boolean(value: str) -> bool:
    if value not in ("true", "false"):
        raise ValueError("Must be true or false.")
    return value == "true"


text = ParameterKind(str, {"type": "string"})
integer = ParameterKind(parse_integer, {"type": "integer", "minimum": -9_999_999_999, "maximum": 9_999_999_999})
boolean = ParameterKind(parse_boolean, {"type": "boolean"})
timestamp = ParameterKind(parse_timestamp, MOMENT_SCHEMA, parse_day_end)
day = ParameterKind(parse_date, {"type": "string", "format": "date"})


def choice(values: Iterable[str]) -> ParameterKind:
    allowed = [str(value) for value in values]

    def parse(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"Must be one of: {', '.join(allowed)}.{did_you_mean(value, allowed)}")
        return value

    return ParameterKind(parse, {"type": "string", "enum": allowed})


def identifier(prefix: str) -> ParameterKind:
    def parse(value: str) -> str:
        if ids.decode(prefix, value) is None:
            raise ValueError(f"Must be an id, not {value[:MAX_SHOWN]!r}.{id_hint(prefix, value)}")
        return value

    return ParameterKind(parse, {"type": "string", "pattern": f"^{prefix}_{ids.TEXT}$"})


def split_members(text: str) -> list[str]:
    """Return the values of a comma-separated list, in which `\\,` is a comma within a value."""
    return [member.replace("\\,", ",") for member in SEPARATOR.split(text)]


class Texts(forms.Widget):
    """Returns every occurrence of a query parameter."""

    def value_from_datadict(self, data: Mapping[str, object], files: object, name: str) -> list[str] | None:
        return data.getlist(name) if isinstance(data, QueryDict) and name in data else None


class OperandField(forms.Field):
    """Parses a query parameter to a value, or for `in` to a list of values."""

    widget = Texts

    def __init__(
        self,
        *,
        parse: Callable[[str], object] = str,
        many: bool = False,
        label: str | None = None,
        required: bool = False,
    ) -> None:
        super().__init__(label=label, required=required)
        self.parse, self.many = parse, many

    def clean(self, value: list[str] | None) -> object:
        if value is None:
            return None
        members = [member for text in value for member in split_members(text)] if self.many else value
        if len(members) > MAX_MEMBERS:
            raise forms.ValidationError(f"Takes up to {MAX_MEMBERS} values.")
        try:
            parsed = [self.parse(member) for member in members]
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None
        return parsed if self.many else parsed[0]


class Index(Enum):
    """How a database index helps a filter by one value."""

    FINDS = auto()  # it finds the few rows
    SORTS = auto()  # it reads the rows, which may be many, in the list's order


class Operand:
    """A filterable field of a list: its model field, value type and operators.

    An `optional` operand also takes `exists`; `absent` is what its column holds for no value. `startsWith` needs an
    index by code points or with varchar_pattern_ops. `any_of` builds the condition for a list of texts if comparing
    one column is not enough, `begins_with` that of `prefix`. `index` is the index for one value, if any
    (kit.rest.lists.windows).
    """

    def __init__(
        self,
        kind: ParameterKind,
        field_name: str | None = None,
        operators: tuple[str, ...] = EQUALITY,
        lookup: str = "",
        *,
        optional: bool = False,
        absent: object = None,
        any_of: Callable[[list[str]], Q] | None = None,
        begins_with: Callable[[str], Q] | None = None,
        index: Index | None = None,
    ) -> None:
        self.kind, self.field_name, self.lookup, self.absent = kind, field_name, lookup, absent
        self.any_of, self.begins_with, self.index = any_of, begins_with, index
        self.operators = (*operators, "exists") if optional else operators

    def filters(self, name: str) -> dict[str, django_filters.Filter]:
        made = {f"{name}[{op}]": OperatorFilter(self, name, op) for op in self.operators}
        return {name: OperatorFilter(self, name, "eq"), **made}


class OperatorFilter(django_filters.Filter):
    field_class = OperandField

    def __init__(self, operand: Operand, name: str, operator: str) -> None:
        self.operand, self.operator, self.of = operand, operator, name
        self.index = operand.index if operator == "eq" else None
        many = operator == "in"
        kind = boolean if operator == "exists" else operand.kind
        description = DESCRIPTIONS[operator].format(name=name)
        if kind.parse_last:
            description += DAY_OPERATOR_NOTES.get(operator, "")
        super().__init__(field_name=operand.field_name or name, parse=kind.parser(operator), many=many)
        one = kind.schema
        many_of = {"type": "array", "items": one, "minItems": 1, "maxItems": MAX_MEMBERS}
        extend_schema_field({**(many_of if many else one), "description": description})(self)

    def filter(self, qs: QuerySet, value: object) -> QuerySet:
        if value is None:
            return qs
        match self.operator:
            case "exists":
                absent = self.operand.absent
                own = self.field_name.partition("__")[0]  # without reading the table that it refers to
                nothing = Q(**{f"{own}__isnull": True} if absent is None else {own: absent})
                return qs.exclude(nothing) if value else qs.filter(nothing)
            case "startsWith":
                return self.starting_with(qs, str(value))
            case "prefix" if self.operand.begins_with is not None:
                return qs.filter(self.operand.begins_with(str(value)))
            case "ne" if not (self.operand.any_of or self.operand.lookup or "__" in self.field_name):
                return qs.filter(self.difference(value))
            case "ne":
                return qs.exclude(self.condition(value))
        return qs.filter(self.condition(value))

    def condition(self, value: object) -> Q:
        if self.operand.any_of is not None:
            return self.operand.any_of([str(one) for one in (value if isinstance(value, list) else [value])])
        if self.operand.lookup:  # a custom lookup, such as "has this tag"
            condition = Q()
            for member in value if isinstance(value, list) else [value]:
                condition |= Q(**{f"{self.field_name}__{self.operand.lookup}": member})
            return condition
        condition = Q(**{f"{self.field_name}__{LOOKUPS[self.operator]}": value})
        if self.operator in ORDER and self.operator not in EQUALITY:
            # Django drops comparisons with numbers out of the column's range, and null would match.
            condition &= Q(**{f"{self.field_name}__isnull": False})
        return condition

    def difference(self, value: object) -> Q:
        """Return the condition for other values and null.

        As ranges, so that PostgreSQL skips blocks whose rows all have the value (kit.storage.summaries).
        """
        less, greater, nothing = (f"{self.field_name}__{lookup}" for lookup in ("lt", "gt", "isnull"))
        return Q(**{less: value}) | Q(**{greater: value}) | Q(**{nothing: True})

    def starting_with(self, qs: QuerySet, prefix: str) -> QuerySet:
        # LIKE uses an index with varchar_pattern_ops, the range one by code points. SQLite's LIKE ignores case and
        # finds more than the range does.
        text = by_code_point(self.field_name)
        found = qs.filter(GreaterThanOrEqual(text, prefix), **{f"{self.field_name}__startswith": prefix})
        end = after_prefix(prefix)
        return found if end is None else found.filter(LessThan(text, end))


class OperatorFilterSet(django_filters.FilterSet):
    """A filter set that derives its parameters from `operands`."""

    operands: ClassVar[dict[str, Operand]] = {}

    @classmethod
    def get_filters(cls) -> dict[str, django_filters.Filter]:
        filters = super().get_filters()
        for name, operand in cls.operands.items():
            filters.update(operand.filters(name))
        return filters


class FilteredView(Protocol):
    filterset_class: type[OperatorFilterSet]


def given_filters(
    filterset_class: type[OperatorFilterSet], query: QueryDict
) -> Iterator[tuple[OperatorFilter, object]]:
    """Yield the filters in a query with their values. Raises InvalidRequest for an invalid value.

    All requests share the filters' fields. django-filter's own form copies every field for each request, which took
    half the time of a list.
    """
    for name, parameter_filter in filterset_class.base_filters.items():
        if name in query:
            try:
                field = parameter_filter.field
                yield parameter_filter, field.clean(field.widget.value_from_datadict(query, {}, name))
            except forms.ValidationError as error:
                raise InvalidRequest(error.messages[0], param=name) from None


class StrictFilterBackend(DjangoFilterBackend):
    """Applies the filters named in a query."""

    def filter_queryset(self, request: Request, queryset: QuerySet, view: FilteredView) -> QuerySet:
        for parameter_filter, value in given_filters(view.filterset_class, request.query_params):
            queryset = parameter_filter.filter(queryset, value)
        return queryset
