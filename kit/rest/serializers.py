"""The base of all serializers of requests: strict, with helpful errors."""

from collections.abc import Mapping, Set
from copy import copy
from typing import ClassVar, cast

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

from kit.http.field_errors import UNKNOWN
from kit.values.faults import NO_SUCH_FIELD
from kit.values.suggestions import field_hints, shown, such_as


class StrictSerializer(serializers.Serializer):
    """A serializer that rejects unknown fields and ignores those the service owns (kit.rest.read_only_fields).

    `owned` names response fields beyond the declared read-only ones, such as an expanded relation, so that clients can
    send back what they read.

    Null for an optional field means its value in `cleared`, otherwise its default, as if it were absent. Fields with
    `allow_null` store null; `never_null` and field classes without `takes_null` refuse it.
    """

    owned: ClassVar[frozenset[str]] = frozenset()
    shown_once: ClassVar[frozenset[str]] = frozenset()  # owned fields that only the reply of a creation has
    growing: ClassVar[frozenset[str]] = frozenset()  # owned fields that grow with requests (kit.rest.read_only_fields)
    example: ClassVar[Mapping[str, object]] = {}  # shown if something else than an object is sent
    cleared: ClassVar[Mapping[str, object]] = {}
    never_null: frozenset[str] = frozenset()

    def get_fields(self) -> dict[str, serializers.Field]:
        fields = super().get_fields()
        optional = {name for name, field in fields.items() if not (field.read_only or field.required)}
        takes_null = {name for name in optional if getattr(fields[name], "takes_null", True)} - self.never_null
        self.null_is_default = {name for name in takes_null if not fields[name].allow_null}
        for name in self.null_is_default:
            fields[name].allow_null = True  # for the OpenAPI document
        return fields

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, Mapping):
            form = such_as(self.example) or f" with {', '.join(self.writable())}"
            errors = {api_settings.NON_FIELD_ERRORS_KEY: [f"Must be an object{form}, not {shown(data)}."]}
            raise serializers.ValidationError(errors, code="invalid")
        names = self.fields.keys() | self.owned
        unknown = self.unknown_fields(data, names) | self.missing_fields(data)
        values = {name: value for name, value in data.items() if value is not None or name not in self.null_is_default}
        try:
            fields = super().to_internal_value(values)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**unknown, **cast("dict[str, list[str]]", error.detail)}) from None
        if unknown:
            raise serializers.ValidationError(unknown)
        cleared = (self.cleared.keys() & data.keys()) - values.keys()
        return fields | {str(self.fields[name].source): copy(self.cleared[name]) for name in cleared}

    def missing_fields(self, data: Mapping[str, object]) -> dict[str, list[ErrorDetail]]:
        """Return the errors of a nested object in a partial change, which replaces it as a whole."""
        if self.parent is None or not getattr(self.root, "partial", False):
            return {}
        missing = [name for name, field in self.fields.items() if field.required and name not in data]
        return {name: [ErrorDetail(str(self.fields[name].error_messages["required"]), "required")] for name in missing}

    def writable(self) -> list[str]:
        return [name for name, field in self.fields.items() if not field.read_only]

    def unknown_fields(self, data: Mapping[str, object], known_names: Set[str]) -> dict[str, list[ErrorDetail]]:
        """Return the errors of unknown fields; the first ones say which writable fields there are."""
        unknown = [name for name in data if name not in known_names]
        hints = field_hints(unknown, self.writable()) if unknown else {}
        return {name: [ErrorDetail(f"{NO_SUCH_FIELD}{hints[name]}", UNKNOWN)] for name in unknown}
