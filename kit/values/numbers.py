"""Numbers on their way back from JSON columns."""

import json
from typing import Any

INT64 = range(-(2**63), 2**63)


class NumbersOfTheApi(json.JSONDecoder):
    """PostgreSQL writes 1e22 with all its digits; what does not fit into 64 bits came as a float and is one again."""

    def __init__(self, **options: Any) -> None:
        super().__init__(parse_int=self.number, **options)

    @staticmethod
    def number(digits: str) -> int | float:
        value = int(digits)
        return value if value in INT64 else float(digits)
