"""What callers say of a requester in their own words: `requester.attributes` of a check. No ORM, no HTTP.

Numbers are compared as the decimals that their JSON spells, so 10 is 10.0 and 0.1 is 0.1; true and false are no
numbers.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any

from msgspec import Meta

from kit.values.faults import Fault, Faults
from kit.values.metadata import IS_KEY, KEY_PATTERN, KEY_RULE, MAX_KEYS, MAX_TEXT
from kit.values.numbers import INT64
from licensing.policies.condition_values import Schema, expect, mapping

Value = str | bool | Decimal
Attributes = dict[str, Value]
Json = dict[str, Any]  # of attributes, or of the condition on them

SCALARS: list[Schema] = [{"type": "string", "maxLength": MAX_TEXT}, {"type": "number"}, {"type": "boolean"}]
KEYS: Schema = {"maxProperties": MAX_KEYS, "propertyNames": {"pattern": f"^{KEY_PATTERN}$"}}
AttributesJson = Annotated[Json, Meta(extra_json_schema={**KEYS, "additionalProperties": {"anyOf": SCALARS}})]

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
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def parse_size(value: object, path: str, message: str = "Must be an object.") -> Mapping[str, object]:
    given = mapping(value, path, message)
    expect(len(given) <= MAX_KEYS, path, f"At most {MAX_KEYS} keys.")
    return given


def parse_attributes(value: object, path: str) -> Attributes:
    """Raises Fault for every key and value that is wrong."""
    faults, parsed = Faults(), {}
    for name, one in parse_size(value, path).items():
        faults.expect(IS_KEY(name) is not None, f"{path}.{name}", KEY_RULE)
        with faults:
            parsed[name] = parse_value(one, f"{path}.{name}")
    faults.raise_first()
    return parsed


def load_attributes(stored: Json) -> Attributes:
    """The attributes from their JSON, or from a requester's metadata, which has passed the same bounds."""
    return {name: one if isinstance(one, str | bool) else exact(one) for name, one in stored.items()}


def dump_attributes(attributes: Attributes) -> Json:
    return {name: number_of(one) if isinstance(one, Decimal) else one for name, one in attributes.items()}


def number_of(value: Decimal) -> int | float:
    is_integer = -(2**63) <= value < 2**63 and value == value.to_integral_value()
    return int(value) if is_integer else float(value)


# --- As text in a form -----------------------------------------------------------------------------------------------

PLAIN = re.compile(r'[^\s"=<>,](?:[^"=,]*[^\s"=,])?').fullmatch
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?").fullmatch
SCALAR = r'"(?:[^"\\]|\\.)*"|[^"=,]+'
PAIR_IN_LIST = re.compile(rf"\s*({KEY_PATTERN})\s*=\s*({SCALAR})\s*(?:,|$)")
FORM_RULE = "Write attributes as country=DE, seats=25, trial=false; quote a text that has a comma or =."


def text_of_scalar(value: object) -> str:
    """The value as it is typed: a text that could be read as something else stands in double quotes."""
    if isinstance(value, str):
        is_plain = PLAIN(value) is not None and value.isprintable() and scalar_of(value) == value
        return value if is_plain else json.dumps(value, ensure_ascii=not value.isprintable())
    return json.dumps(value)


def scalar_of(text: str) -> object:
    """What was typed, as JSON. Raises ValueError for a text in quotes that is no JSON."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return json.loads(text)
    if match := NUMBER(text):
        return float(text) if match[2] or match[3] else int(text)
    return text


def text_of_attributes(attributes: Json) -> str:
    """As "country=DE, seats=25"."""
    return ", ".join(f"{name}={text_of_scalar(value)}" for name, value in attributes.items())


def read_attributes(text: str) -> Json:
    """Raises Fault for a text of another form."""
    try:
        return {match[1]: scalar_of(match[2]) for match in every(PAIR_IN_LIST, text)}
    except ValueError:
        raise Fault("", FORM_RULE) from None


def every(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """The matches, one after the other, that the text is made of. Raises ValueError."""
    found, place = [], 0
    while place < len(text.rstrip()):
        match = pattern.match(text, place)
        if match is None:
            raise ValueError(text)
        found.append(match)
        place = match.end()
    return found
