"""A requester's custom attributes, sent as `requester.attributes` of a check. Uses neither ORM nor HTTP.

Numbers are compared as decimals of their JSON text, so 10 equals 10.0, and 0.1 is exact. Booleans are not numbers.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from kit.values.faults import Fault, Faults
from kit.values.metadata import KEY_PATTERN, KEY_RULE, MAX_KEYS, MAX_TEXT, match_key
from kit.values.numbers import INT64
from licensing.policies.condition_values import Schema, expect, require_object

SHAPE = 'Must be an object such as {"country": "DE", "seats": 25}.'
Value = str | bool | Decimal
Attributes = dict[str, Value]
Json = dict[str, Any]  # JSON of attributes, or of the condition on them

SCALARS: list[Schema] = [{"type": "string", "maxLength": MAX_TEXT}, {"type": "number"}, {"type": "boolean"}]
KEYS: Schema = {"maxProperties": MAX_KEYS, "propertyNames": {"pattern": f"^{KEY_PATTERN}$"}}
AttributesJson = Annotated[Json, Meta(extra_json_schema={**KEYS, "additionalProperties": {"anyOf": SCALARS}})]
match_plain_text = re.compile(r'[^\s"=<>,](?:[^"=,]*[^\s"=,])?').fullmatch
match_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?").fullmatch
FORM_RULE = "Write attributes as country=DE, seats=25, trial=false; quote a text that has a comma or =."

# --- The fact --------------------------------------------------------------------------------------------------------


def parse_value(value: object, path: str) -> Value:
    if isinstance(value, str):
        expect(len(value) <= MAX_TEXT, path, f"Must have at most {MAX_TEXT} characters.")
        return value
    if isinstance(value, bool):
        return value
    return parse_number(value, path, "Must be a string, a number or a boolean.")


def parse_number(value: object, path: str, message: str = "Must be a number.") -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise Fault(path, message)
    is_in_range = value in INT64 if isinstance(value, int) else isfinite(value)
    expect(is_in_range, path, "Must be a number of 64 bits.")
    return exact(value)


def exact(value: float | Decimal) -> Decimal:
    if isinstance(value, float):
        return Decimal(repr(value))
    return Decimal(value)


def require_attributes(value: object, path: str, message: str = SHAPE) -> Mapping[str, object]:
    attributes = require_object(value, path, message)
    expect(len(attributes) <= MAX_KEYS, path, f"At most {MAX_KEYS} keys.")
    return attributes


def parse_attributes(value: object, path: str) -> Attributes:
    """Parse attributes. Raises Fault with every invalid key and value."""
    faults = Faults()
    parsed = {}
    for name, attribute in require_attributes(value, path).items():
        faults.expect(match_key(name) is not None, f"{path}.{name}", KEY_RULE)
        with faults:
            parsed[name] = parse_value(attribute, f"{path}.{name}")
    faults.raise_first()
    return parsed


def load_attributes(stored: Json) -> Attributes:
    """Load attributes from recorded JSON or a requester's metadata, which have the same limits."""
    return {name: value if isinstance(value, str | bool) else exact(value) for name, value in stored.items()}


def dump_attributes(attributes: Attributes) -> Json:
    return {name: plain_number(value) if isinstance(value, Decimal) else value for name, value in attributes.items()}


def plain_number(value: Decimal) -> int | float:
    is_integer = -(2**63) <= value < 2**63 and value == value.to_integral_value()
    if is_integer:
        return int(value)
    return float(value)


# --- As text in a form -----------------------------------------------------------------------------------------------


def text_of_scalar(value: object) -> str:
    """Format a value for a form. Text that could be read as another type is put in double quotes."""
    if isinstance(value, str):
        is_plain = match_plain_text(value) is not None and value.isprintable() and parse_scalar(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
    return json.dumps(value)


def parse_scalar(text: str) -> object:
    """Parse a value typed into a form. Raises ValueError if it is malformed."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return json.loads(text)
    if match := match_number(text):
        if match[2] or match[3]:
            return float(text)
        return int(text)
    return text


def scalar_in_list(text: str) -> object:
    """Parse one value of a list. Raises ValueError if it is empty or malformed."""
    text = text.strip()
    if not text or (not text.startswith('"') and ('"' in text or "=" in text)):
        raise ValueError(text)
    return parse_scalar(text)


def text_of_attributes(attributes: Json) -> str:
    """Format attributes, as in "country=DE, seats=25"."""
    return ", ".join(f"{name}={text_of_scalar(value)}" for name, value in attributes.items())


def read_attributes(text: str) -> Json:
    """Parse text as formatted by text_of_attributes. Raises Fault if it is malformed."""
    try:
        return dict(map(read_pair, split_list(text)))
    except ValueError:
        raise Fault("", FORM_RULE) from None


def read_pair(text: str) -> tuple[str, object]:
    """Parse `country=DE`. Raises ValueError if it is malformed."""
    name, _, value = text.partition("=")
    if match_key(name.strip()) is None:
        raise ValueError(text)
    return name.strip(), scalar_in_list(value)


def split_list(text: str) -> list[str]:
    """Split a text at the commas outside its double quotes; one at its end separates nothing.

    Raises ValueError if a quote is not closed.
    """
    parts = []
    begin = 0
    is_quoted = is_escaped = False
    for index, character in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif is_quoted and character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        elif character == "," and not is_quoted:
            parts.append(text[begin:index])
            begin = index + 1
    if is_quoted:
        raise ValueError(text)
    last = text[begin:]
    return [*parts, last] if last.strip() else parts
