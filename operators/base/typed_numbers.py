"""Numbers as people type them: in the German or the English way, with separators of thousands."""

import re
from decimal import Decimal

from django import forms

from kit.values.decimals import plain

AMBIGUOUS_NUMBER = re.compile(r"([-+]?[1-9]\d{0,2})[.,](\d{3})")  # thousands, or three decimals
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:\.\d{3}){2,}|(?:,\d{3}){2,})")
GROUPED = re.compile(r"[-+]?\d{1,3}(?:(?:\.\d{3})+,\d*|(?:,\d{3})+\.\d*)")  # thousands, then a fraction
CURRENCY = re.compile(r"[€$£¥]|[A-Z]{3}")
SPACE_OF_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3})")
PLAIN_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)", re.ASCII)


def editable_amount(amount: Decimal) -> str:
    """Return an amount as a text for a form, which reads three decimals only with a further 0 (`1.1250`)."""
    text = plain(amount)
    return f"{text}0" if AMBIGUOUS_NUMBER.fullmatch(text) else text


def normalise_decimal(text: str) -> str:
    """Convert a number from any convention (`0,05`, `1.234,50`, `1 234,50`) to a decimal point without separators.

    Raises Django's ValidationError for ambiguous numbers such as `1,200` and `1.200`, and for what is none (`1e3`).
    """
    number = without_separators(SPACE_OF_THOUSANDS.sub("", text.strip()))
    if number and not PLAIN_NUMBER.fullmatch(number):
        without = ", without the currency" if CURRENCY.search(number) else ""
        raise forms.ValidationError(f"Enter a number{without}.", code="invalid")
    return number


def without_separators(number: str) -> str:
    if match := AMBIGUOUS_NUMBER.fullmatch(number):
        whole, rest = match.groups()
        decimals = f"{rest}0" if rest[2] != "0" else rest[:2]
        raise forms.ValidationError(f"Write {whole}{rest} or {whole}.{decimals}: {number} could be either.")
    if THOUSANDS.fullmatch(number):
        return number.replace(".", "").replace(",", "")
    if "," not in number:
        return number
    if GROUPED.fullmatch(number):
        thousands, decimal = (",", ".") if number.rindex(".") > number.rindex(",") else (".", ",")
        return number.replace(thousands, "").replace(decimal, ".")
    return number if "." in number or number.count(",") > 1 else number.replace(",", ".")
