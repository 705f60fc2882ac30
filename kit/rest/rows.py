"""Serializers that show the columns of a row."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar

from rest_framework.serializers import Field, ListSerializer, Serializer

from kit.rest.fields import Choice, Timestamp
from kit.rest.money import Amount
from kit.rest.serializers import StrictSerializer
from kit.values.decimals import render_amount
from kit.values.json_values import Rendered
from kit.values.timestamps import render_timestamp

ZERO = Decimal(0)
Reader = Callable[[Any, Any], object]  # receives the serializer and the row


class ShownRow(Serializer):
    """Shows in each field the row's attribute with the field's name in snake case.

    `attributes` names other ones; `requester.name` is null for a row without a requester. A method such as
    `show_refill` shows a field that no attribute has. An amount that cannot be null is 0 where the row has none. The
    fields in `beside_row` are added by `to_representation`. Nested rows are shown by their own serializers.
    """

    attributes: ClassVar[Mapping[str, str]] = {}
    beside_row: ClassVar[frozenset[str]] = frozenset()
    owned: ClassVar[frozenset[str]] = frozenset()
    shown_once: ClassVar[frozenset[str]] = frozenset()

    def to_representation(self, row: Any) -> Rendered:
        return {name: read(self, row) for name, read in readers(type(self))}


class RowSerializer(ShownRow, StrictSerializer):
    """Shows a row, and validates requests strictly."""


@cache
def readers(serializer: type[ShownRow]) -> list[tuple[str, Reader]]:
    """Return how to read each field, in the order in which the serializer and its bases declare them."""
    fields: Mapping[str, Field] = serializer._declared_fields
    hidden = serializer.owned | serializer.shown_once | serializer.beside_row
    named_readers: dict[str, Reader] = {}
    for base in reversed(serializer.__mro__):  # DRF puts the fields of a subclass first
        for name in getattr(base, "_declared_fields", ()):
            if name not in hidden and name not in named_readers and not fields[name].write_only:
                named_readers[name] = make_reader(serializer, name, fields[name])
    return list(named_readers.items())


def make_reader(serializer: type[ShownRow], name: str, field: Field) -> Reader:
    attribute = serializer.attributes.get(name, re.sub("[A-Z]", r"_\g<0>", name).lower())
    method: Reader | None = getattr(serializer, f"show_{attribute}", None)
    if method is not None:
        return method
    if name == "object" and isinstance(field, Choice):
        [constant] = field.choices
        return lambda _, row: constant
    read: Callable[[Any], Any] = read_related(*attribute.split(".")) if "." in attribute else attrgetter(attribute)
    convert = find_converter(field)
    if convert is None:
        return lambda _, row: read(row)
    return lambda _, row: convert(read(row))


def find_converter(field: Field) -> Callable[[Any], object] | None:
    """Return the function that renders the field's values; None if they are shown as they are."""
    if isinstance(field, Timestamp):
        return render_timestamp
    if isinstance(field, Amount):
        return render_nullable if field.allow_null else render_or_zero
    if isinstance(field, ShownRow):
        return lambda row: None if row is None else field.to_representation(row)
    if isinstance(field, ListSerializer) and isinstance(field.child, ShownRow):
        show = field.child.to_representation
        return lambda rows: list(map(show, rows))
    return None


def render_nullable(amount: Decimal | None) -> object:
    return None if amount is None else render_amount(amount)


def render_or_zero(amount: Decimal | None) -> object:
    return render_amount(amount or ZERO)


def read_related(relation: str, attribute: str) -> Callable[[Any], Any]:
    def read(row: object) -> object:
        related = getattr(row, relation)
        return None if related is None else getattr(related, attribute)

    return read
