"""Amounts of money as exact decimals with up to six places, and as whole millionths, without the ORM."""

import re
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import SupportsInt

import orjson

PLACES = 6
MAX_DIGITS = 60  # of a text; more are refused before they are converted
LARGEST = 10**12  # limit of one amount, in units of the currency
match_decimal = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?").fullmatch
MILLIONTH = Decimal(1).scaleb(-PLACES)
EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
WIDE = Context(prec=60)  # Decimal's default of 28 digits would silently round sums and long literals


def to_millionths(amount: Decimal) -> int:
    """Convert an amount to millionths. Raises ValueError for more than six places."""
    try:
        return int(amount.quantize(MILLIONTH, context=EXACT).scaleb(PLACES, EXACT))
    except Inexact:
        raise ValueError(f"An amount has at most {PLACES} places after the point.") from None
    except InvalidOperation:  # raised before 1e999999 is expanded
        raise ValueError("This is more than any sum of amounts.") from None


def from_millionths(count: str | SupportsInt) -> Decimal:
    return Decimal(int(count)).scaleb(-PLACES, WIDE)


def parse_amount(value: object) -> Decimal:
    """Parse an int, a Decimal or a decimal string such as `"0.10"`.

    Raises ValueError, also for floats, which are inexact.
    """
    if isinstance(value, str) and len(value) - value.count("-") - value.count(".") > MAX_DIGITS:
        raise ValueError(f"Must have at most {MAX_DIGITS} digits.")
    if isinstance(value, str) and match_decimal(value):
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
    """Return the amount's digits in one spelling: 2.50 becomes 2.5, and there is no -0."""
    return f"{amount.normalize(WIDE) or Decimal(0):f}"


def plain_millionths(count: int) -> str:
    """Return the text that `plain` gives for an amount in millionths, at a fraction of its cost."""
    units, fraction = divmod(abs(count), 10**PLACES)
    digits = f"{units}.{fraction:0{PLACES}}".rstrip("0").removesuffix(".")
    return f"-{digits}" if count < 0 else digits


def render_amount(amount: Decimal) -> orjson.Fragment:
    """Return the amount as a JSON number."""
    return orjson.Fragment(plain(amount))
