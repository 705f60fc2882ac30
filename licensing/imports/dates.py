"""Reads dates as spreadsheets write them: 24.11.2026, 24/11/2026 or 11/24/2026."""

import re
from typing import Literal

from kit.http.errors import InvalidRequest

Order = Literal["day-first", "month-first"]
ORDERS: tuple[Order, ...] = ("day-first", "month-first")
match_written_date = re.compile(
    r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})(?:[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[AaPp][Mm])?)?"
).fullmatch
MAX_CHARACTERS = 30  # characters
MONTHS = 12


class DateOrder:
    """Which comes first in a file's dates. `order` is the user's choice, otherwise the dates decide.

    A date with dots begins with its day. With slashes or hyphens, a number above 12 anywhere in the column is a day.
    """

    def __init__(self, order: Order | None = None) -> None:
        self.order = order
        self.has_day_first = self.has_day_second = False

    def note(self, value: object) -> None:
        """Learn from a value of the column."""
        match = match_written_date(value.strip()) if isinstance(value, str) and len(value) <= MAX_CHARACTERS else None
        if match is not None and match[2] != ".":
            self.has_day_first |= int(match[1]) > MONTHS
            self.has_day_second |= int(match[3]) > MONTHS

    def to_iso(self, text: str) -> str:
        """Return a date as 2026-11-24, and any other text as it is. Raises InvalidRequest if it is ambiguous."""
        match = match_written_date(text.strip()) if len(text) <= MAX_CHARACTERS else None
        if match is None:
            return text
        first, separator, second, year = match.groups()
        if self.is_day_first(text, separator):
            day = first
            month = second
        else:
            month = first
            day = second
        return f"{year}-{int(month):02}-{int(day):02}" if int(month) <= MONTHS else text

    def is_day_first(self, text: str, separator: str) -> bool:
        if self.order is not None:
            return self.order == "day-first"
        if separator == ".":
            return True
        if self.has_day_first == self.has_day_second:
            raise InvalidRequest(
                f"{text!r} may begin with its day or its month. Choose the order of dates (--dates).",
                param="metadata.publishedAt",
            )
        return self.has_day_first
