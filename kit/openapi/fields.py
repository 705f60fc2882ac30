"""How the OpenAPI document describes the fields of kit.rest.fields."""

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction

from kit.values import ids
from kit.values.timestamps import MOMENT_SCHEMA
from kit.values.urls import URL_SCHEMA


class TextExtension(OpenApiSerializerFieldExtension):
    """Adds a pattern to request fields that must not be blank."""

    target_class = "kit.rest.fields.Text"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        for name in ("readOnly", "description", "minLength"):  # the caller adds these again, and null
            schema.pop(name, None)
        schema["type"] = "string"
        if direction == "request" and not self.target.allow_blank:
            schema["pattern"] = r"\S"
        return schema


class UrlExtension(TextExtension):
    target_class = "kit.rest.fields.Url"
    priority = 1

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        schema = super().map_serializer_field(auto_schema, direction)
        return {**schema, **URL_SCHEMA}


class IdExtension(OpenApiSerializerFieldExtension):
    target_class = "kit.rest.fields.Id"
    priority = 1

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        return {"type": "string", "pattern": f"^{self.target.prefix}_{ids.TEXT}$"}


class TimestampExtension(OpenApiSerializerFieldExtension):
    """Requests may also send a date without a time."""

    target_class = "kit.rest.fields.Timestamp"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, object]:
        if direction == "request":
            return dict(MOMENT_SCHEMA)
        return {"type": "string", "format": "date-time"}
