"""How the OpenAPI document describes the fields of kit.rest.fields."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension

from kit.values import ids


class TextExtension(OpenApiSerializerFieldExtension):
    """A text that must not be blank says so in requests by a pattern."""

    target_class = "kit.rest.fields.Text"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        for name in ("nullable", "readOnly", "description", "minLength"):  # added by the caller again
            schema.pop(name, None)
        if direction == "request" and not self.target.allow_blank:
            schema["pattern"] = r"\S"
        return schema


class UrlExtension(TextExtension):
    target_class = "kit.rest.fields.Url"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = super().map_serializer_field(auto_schema, direction)
        return {**schema, "format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"}


class IdExtension(OpenApiSerializerFieldExtension):
    target_class = "kit.rest.fields.Id"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{self.target.prefix}_{ids.TEXT}$"}


class TimestampExtension(OpenApiSerializerFieldExtension):
    """In requests a bare date will do, too."""

    target_class = "kit.rest.fields.Timestamp"

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        if direction == "request":
            return {"type": "string", "anyOf": [{"format": "date-time"}, {"format": "date"}]}
        return {"type": "string", "format": "date-time"}
