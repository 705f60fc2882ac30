"""JSON in Python, as the parsers make it: with Decimals where a body is read exactly."""

from decimal import Decimal
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | float | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

# An object to be rendered: its values are whatever kit.http.rendering takes, timestamps and fragments among them.
# (In a serializer with a field called `object`, that name is taken.)
Rendered: TypeAlias = dict[str, object]
