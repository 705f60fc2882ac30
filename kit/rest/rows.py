"""Serializers that show the columns of a row."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from rest_framework.serializers import Field, Serializer

from kit.rest.fields import Choice, Timestamp
from kit.rest.money import Amount
from kit.rest.serializers import StrictSerializer
from kit.values.amounts import render_amount
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp

ZERO = Decimal(0)
Reader = Callable[[Any, Any], object]  # receives the serializer and the row


class ShownRow(Serializer):
    """Shows in each field the row's attribute with the field's name in snake case.

    `attributes` names other ones; `requester.name` is null for a row without a requester. A method such as
    `show_refill` shows a field that no attribute has. An amount that cannot be null is 0 where the row has none.
    """

    attributes: ClassVar[Mapping[str, str]] = {}

    def to_representation(self, row: Any) -> Rendered:
        return {name: read(self, row) for name, read in readers(type(self))}


class RowSerializer(ShownRow, StrictSerializer):
    """Shows a row, and validates requests strictly."""


@cache
def readers(serializer: type[ShownRow]) -> list[tuple[str, Reader]]:
    """Return how to read each field, in the order in which the serializer and its bases declare them."""
    names = dict.fromkeys(
        name for base in reversed(serializer.__mro__) for name in getattr(base, "_declared_fields", ())
    )
    fields: Mapping[str, Field] = serializer._declared_fields
    hidden = {name for attribute in ("owned", "shown_once") for name in getattr(serializer, attribute, ())}
    shown = [name for name in names if name not in hidden and not fields[name].write_only]
    return [(name, make_reader(serializer, name, fields[name])) for name in shown]


def make_reader(serializer: type[ShownRow], name: str, field: Field) -> Reader:
    attribute = serializer.attributes.get(name, re.sub("[A-Z]", r"_\g<0>", name).lower())
    method: Reader | None = getattr(serializer, f"show_{attribute}", None)
    if method is not None:
        return method
    if name == "object" and isinstance(field, Choice):
        [constant] = field.choices
        return lambda _, row: constant
    read: Callable[[Any], Any] = read_related(*attribute.split(".")) if "." in attribute else attrgetter(attribute)
    if isinstance(field, Timestamp):
        return lambda _, row: render_timestamp(read(row))
    if isinstance(field, Amount) and field.allow_null:
        return lambda _, row: None if (amount := read(row)) is None else render_amount(amount)
    if isinstance(field, Amount):
        return lambda _, row: render_amount(read(row) or ZERO)
    return lambda _, row: read(row)


def read_related(relation: str, attribute: str) -> Callable[[Any], Any]:
    def read(row: object) -> object:
        related = getattr(row, relation)
        return None if related is None else getattr(related, attribute)

    return read
