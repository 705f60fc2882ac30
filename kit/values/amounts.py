"""Amounts of money: exact decimals of up to six places, kept as whole millionths, never as floats."""

import re
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import TYPE_CHECKING, Any

import orjson
from django.db import models

PLACES = 6
LARGEST = 10**12  # of one amount, in the currency's own unit
IS_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?").fullmatch
MILLIONTH = Decimal(1).scaleb(-PLACES)
EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
WIDE = Context(prec=60)  # Decimal's own 28 digits would round a sum or a long literal in silence


def to_millionths(amount: Decimal) -> int:
    """Raises ValueError for more than six places."""
    try:
        return int(amount.quantize(MILLIONTH, context=EXACT).scaleb(PLACES, EXACT))
    except Inexact:
        raise ValueError(f"An amount has at most {PLACES} places after the point.") from None
    except InvalidOperation:  # before 1e999999 is written out
        raise ValueError("This is more than any sum of amounts.") from None


def from_millionths(count: Any) -> Decimal:
    return Decimal(int(count)).scaleb(-PLACES, WIDE)


def parse_amount(value: Any) -> Decimal:
    """An amount as it comes in: an int, a Decimal, or the text of a plain decimal (`"0.10"`). ValueError says why not.

    A float is none: its digits are gone.
    """
    if isinstance(value, str) and IS_DECIMAL(value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError('Must be a number or a decimal in a string, such as "0.10".')  # noqa: TRY004 - told to callers
    amount = Decimal(value)
    if abs(amount) > LARGEST:
        raise ValueError(f"Must be from -{LARGEST} to {LARGEST}.")
    if amount and amount.adjusted() < -PLACES:
        raise ValueError(f"Must have at most {PLACES} places after the point.")
    try:
        return from_millionths(to_millionths(amount))
    except ValueError:
        raise ValueError(f"Must have at most {PLACES} places after the point.") from None


def plain(amount: Decimal) -> str:
    """Exactly the amount's digits, in one spelling: 2.50 is 2.5, and there is no -0."""
    return f"{amount.normalize(WIDE) or Decimal(0):f}"


def render_amount(amount: Decimal) -> orjson.Fragment:
    """The amount as a JSON number."""
    return orjson.Fragment(plain(amount))


class AmountField(models.BigIntegerField):
    """A Decimal in Python, a whole number of millionths in the database: SQLite's decimals are floats."""

    if TYPE_CHECKING:
        _pyi_private_set_type: Decimal | int  # type: ignore[assignment]
        _pyi_private_get_type: Decimal  # type: ignore[assignment]

    def get_prep_value(self, value: Any) -> Any:
        return to_millionths(value) if isinstance(value, Decimal) else super().get_prep_value(value)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Decimal | None:
        return None if value is None else from_millionths(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, Decimal) else Decimal(str(value))


class TotalField(AmountField):
    """A sum of any number of amounts: without bound on PostgreSQL; on SQLite one past 64 bits is refused.

    (SQLite would go on with a float instead.)
    """

    def db_type(self, connection: Any) -> str | None:
        return "numeric(40)" if connection.vendor == "postgresql" else super().db_type(connection)

    def db_check(self, connection: Any) -> str | None:
        return f"typeof(\"{self.column}\") = 'integer'" if connection.vendor == "sqlite" else None
