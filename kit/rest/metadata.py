"""Custom metadata on a resource: up to 50 keys with strings, numbers or booleans."""

from collections.abc import Mapping
from decimal import Decimal

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kit.http.errors import ValidationFailed
from kit.values.metadata import KEY_PATTERN, KEY_RULE, MAX_KEYS, MAX_TEXT, match_key
from kit.values.suggestions import shown, such_as

EXAMPLE = {"country": "DE", "seats": 25}
VALUES = [
    {"type": "string", "maxLength": MAX_TEXT},
    {"type": "number"},
    {"type": "boolean"},
    {"type": "null"},
]
SCHEMA: dict[str, object] = {
    "type": "object",
    "propertyNames": {"pattern": f"^{KEY_PATTERN}$"},
    "additionalProperties": {"anyOf": VALUES},
    "description": f"Up to {MAX_KEYS} keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.",
    "example": EXAMPLE,
}


def validate_entry(name: str, value: object) -> object:
    """Return the value of a key; None removes the key. Raises DRF's ValidationError."""
    if not match_key(name):
        raise serializers.ValidationError(KEY_RULE)
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise serializers.ValidationError(f"Must have at most {MAX_TEXT} characters.")
    if isinstance(value, Decimal):  # of a body that also has amounts of money
        return float(value)
    if value is not None and not isinstance(value, str | int | float):
        raise serializers.ValidationError("Must be a string, a number or a boolean.")
    return value


def merge_metadata(stored: Mapping[str, object], given: object) -> dict[str, object]:
    """Merge `given` into stored metadata: a null value removes its key, null as a whole removes all keys.

    Raises ValidationFailed for more than 50 keys.
    """
    both = {**stored, **given} if isinstance(given, dict) else {}
    result = {name: value for name, value in both.items() if value is not None}
    if len(result) > MAX_KEYS:
        raise ValidationFailed(f"At most {MAX_KEYS} keys.", param="metadata")
    return result


@extend_schema_field(SCHEMA)
class FreeMetadata(serializers.Field):
    """An object with keys of the caller's choice."""

    null_is_empty = True

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, dict):
            raise serializers.ValidationError(f"Must be an object{such_as(EXAMPLE)}, not {shown(data)}.")
        entries: dict[str, object] = {}
        wrong = {}
        for name, value in data.items():
            try:
                entries[name] = validate_entry(name, value)
            except serializers.ValidationError as error:
                wrong[name] = error.detail
        if wrong:
            raise serializers.ValidationError(wrong)
        return entries

    def to_representation(self, value: object) -> object:
        return value
