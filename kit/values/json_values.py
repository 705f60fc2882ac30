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


def is_same(value: object, other: object) -> bool:
    """Return whether two JSON values are equal. Unlike in Python, `true` is not 1; `1.0` is."""
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(is_same(value[name], other[name]) for name in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(is_same, value, other))
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
