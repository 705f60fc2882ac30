"""Bounds of integers, and reading numbers from JSON columns."""

import json

MAX_INTEGER = 2**31 - 1  # of an integer column
INT64 = range(-(2**63), 2**63)


class NumbersOfTheApi(json.JSONDecoder):
    """Decodes integers beyond 64 bits as floats, as they were sent: PostgreSQL expands 1e22 to all its digits."""

    def __init__(self) -> None:
        super().__init__(parse_int=self.number)

    @staticmethod
    def number(digits: str) -> int | float:
        value = int(digits)
        return value if value in INT64 else float(digits)
