"""Amounts in JSON: numbers or decimal strings in, numbers out, exact both ways.

A view whose body has amounts sets `exact_numbers`, so that they never pass through a float.
"""

from decimal import Decimal
from typing import ClassVar, Unpack

import orjson
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction
from rest_framework import serializers

from kit.rest.fields import FieldOptions, ParsedField
from kit.rest.serializers import StrictSerializer
from kit.values.currencies import CURRENCIES, parse_currency
from kit.values.decimals import LARGEST, PLACES, parse_amount, render_amount


class Amount(serializers.Field):
    """A Decimal with up to six places, at least `least` or more than `more_than`; negative without either."""

    default_error_messages = {"least": "Must be at least {bound}.", "more_than": "Must be more than {bound}."}

    def __init__(
        self, *, least: int | None = None, more_than: int | None = None, **options: Unpack[FieldOptions]
    ) -> None:
        self.least, self.more_than = least, more_than
        super().__init__(**options)

    def to_internal_value(self, data: object) -> Decimal:
        try:
            amount = parse_amount(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None
        if self.least is not None and amount < self.least:
            self.fail("least", bound=self.least)
        if self.more_than is not None and amount <= self.more_than:
            self.fail("more_than", bound=self.more_than)
        return amount

    def to_representation(self, value: Decimal) -> orjson.Fragment:
        return render_amount(value)


class AmountExtension(OpenApiSerializerFieldExtension):
    target_class = "kit.rest.money.Amount"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        if direction == "response":
            return {"type": "number", "format": "decimal"}
        signed = self.target.least is None and self.target.more_than is None
        number: dict[str, object] = {"type": "number", "format": "decimal"}
        number |= {"minimum": -LARGEST if signed else 0, "maximum": LARGEST}
        if self.target.more_than is not None:
            number["exclusiveMinimum"] = number.pop("minimum")
        return {
            "oneOf": [number, decimal_text(signed=signed)],
            "description": f"A number or a decimal in a string, with up to {PLACES} places.",
        }


def decimal_text(*, signed: bool = False) -> dict[str, object]:
    """Return the schema of an amount as a string."""
    digits = len(str(LARGEST)) - 1
    pattern = f"^{'-?' if signed else ''}(0|[1-9][0-9]{{0,{digits - 1}}})(\\.[0-9]{{1,{PLACES}}})?$"
    return {"type": "string", "pattern": pattern}


class Currency(ParsedField[str]):
    """An ISO 4217 code of a currency in use."""

    _spectacular_annotation: ClassVar[dict[str, object]] = {}  # CurrencyExtension describes it

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_currency, **options)


class CurrencyExtension(OpenApiSerializerFieldExtension):
    target_class = "kit.rest.money.Currency"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        if direction == "response":  # stored amounts keep their currency after it goes out of use
            return {"type": "string", "pattern": "^[A-Z]{3}$"}
        return {"type": "string", "enum": CURRENCIES}


class Money(StrictSerializer):
    """An amount in a currency."""

    example = {"amount": 5, "currency": "EUR"}

    amount = Amount(least=0)
    currency = Currency(help_text="ISO 4217.")

    @staticmethod
    def shown(amount: Decimal | None, currency: str | None) -> dict[str, object] | None:
        """Return the API's object for an amount, or None for None."""
        return None if amount is None else {"amount": render_amount(amount), "currency": currency}
