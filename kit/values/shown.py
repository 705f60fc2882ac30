"""Given values as error messages show them."""

import json
from collections.abc import Mapping

MAX_SHOWN = 100  # characters


def shown(value: object) -> str:
    """Return a scalar as JSON, cut to MAX_SHOWN characters; for other values, the name of their type."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json.dumps(value[:MAX_SHOWN] if isinstance(value, str) else value, ensure_ascii=False, default=str)


def such_as(example: object) -> str:
    """Return ` such as {"amount": 5}`, to follow the name of a type; empty without an example."""
    return f" such as {json.dumps(example, ensure_ascii=False)}" if example else ""
