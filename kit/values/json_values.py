"""JSON types in Python, as the parsers return them; Decimals if a body is parsed exactly."""

from decimal import Decimal
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

# An object to render. Its values are of types that kit.http.rendering accepts, such as timestamps and fragments. (A
# serializer with a field named `object` cannot use that name as a type.)
Rendered: TypeAlias = dict[str, object]
