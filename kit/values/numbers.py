"""Bounds of integers, and reading numbers from JSON columns."""

import json
import math
import re
from collections.abc import Callable

import orjson

MAX_INTEGER = 2**31 - 1  # of an integer column
INT64 = range(-(2**63), 2**63)
search_long_digits = re.compile(r"\d{19}").search  # in JSON; it may also be part of a string


def number(digits: str) -> int | float:
    value = int(digits)
    return value if value in INT64 else float(digits)


decode_carefully = json.JSONDecoder(parse_int=number).decode


class NumbersOfTheApi(json.JSONDecoder):
    """Decodes integers beyond 64 bits as floats, as they were sent: PostgreSQL expands 1e22 to all its digits.

    In a fifth of json's time, most of which is building a decoder, as Django does for each value.
    """

    def __init__(self) -> None:
        """Build nothing."""

    def decode(self, s: str, _w: Callable[..., object] | None = None) -> object:
        return decode_carefully(s) if search_long_digits(s) else orjson.loads(s)


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, as in `1 item` and `2,000 items`. `plural` defaults to the noun with an s."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or f'{noun}s'}"


def share_without(failed: int, number: int) -> float:
    """Return the percentage of `number` that did not fail, rounded down so that 100 means all; 0 of none."""
    return (1_000 - math.ceil(1_000 * failed / number)) / 10 if number else 0.0
