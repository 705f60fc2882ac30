"""JSON types in Python, as the parsers return them; Decimals if a body is parsed exactly."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

# An object to render. Its values are of types that kit.http.rendering accepts, such as timestamps and fragments. (A
# serializer with a field named `object` cannot use that name as a type.)
Rendered: TypeAlias = dict[str, object]

Validated: TypeAlias = Mapping[str, Any]  # data that a serializer has validated


def is_same(one: object, other: object) -> bool:
    """Return whether two JSON values are equal. Unlike in Python, `true` is not 1; `1.0` is."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
