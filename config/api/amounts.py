"""Amounts of money: exact decimals of up to six places, kept as whole millionths, never as floats."""

from decimal import Decimal
from typing import Any

import orjson
from django.db import models

PLACES = 6
MILLION = 10**PLACES
LARGEST = 10**12  # of the currency's own unit; sums of many such still fit into 64 bits


def to_millionths(amount: Decimal) -> int:
    """Raises ValueError for more than six places."""
    scaled = amount.scaleb(PLACES)
    whole = int(scaled)
    if whole != scaled:
        raise ValueError(f"An amount has at most {PLACES} places after the point.")
    return whole


def from_millionths(count: Any) -> Decimal:
    return Decimal(int(count)).scaleb(-PLACES)


def render_amount(amount: Decimal) -> orjson.Fragment:
    """The amount as a JSON number with exactly its digits; no float would hold 999,999,999,999.999999."""
    text = f"{amount + 0:f}"  # there is no -0
    return orjson.Fragment(text.rstrip("0").rstrip(".") if "." in text else text)


class AmountField(models.BigIntegerField):
    """A Decimal in Python, a whole number of millionths in the database: SQLite's decimals are floats."""

    def get_prep_value(self, value: Any) -> Any:
        return to_millionths(value) if isinstance(value, Decimal) else super().get_prep_value(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Decimal | None:
        return None if value is None else from_millionths(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Decimal) else Decimal(str(value))
