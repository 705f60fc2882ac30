"""Marks deprecated operations, parameters and body fields in the OpenAPI document."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from drf_spectacular.generators import SchemaGenerator

from kit.http.deprecations import Deprecation


def mark_deprecated(
    result: dict[str, Any], generator: SchemaGenerator, request: HttpRequest | None, public: bool
) -> dict[str, Any]:
    """Mark deprecated operations, parameters and body fields. A field is marked wherever its schema is used."""
    for deprecation in settings.DEPRECATIONS:
        for marked in marked_by(deprecation, result):
            marked["deprecated"] = True
            if deprecation.sunset is not None:
                marked["x-sunset"] = deprecation.sunset.date().isoformat()
    return result


def marked_by(deprecation: Deprecation, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the document that a deprecation is about; empty if it has none."""
    operation = document["paths"].get(deprecation.path, {}).get(deprecation.method.lower())
    if operation is None:
        return []
    if deprecation.parameter is not None:
        parameters = [resolve_reference(parameter, document) for parameter in operation.get("parameters", [])]
        return [
            parameter
            for parameter in parameters
            if parameter["in"] == "query" and parameter["name"].partition("[")[0] == deprecation.parameter
        ]
    if deprecation.field is None:
        return [operation]
    content = resolve_reference(operation.get("requestBody", {}), document).get("content", {})
    if not content:
        return []
    return fields_of(next(iter(content.values()))["schema"], deprecation.field.split("."), document)


def fields_of(schema: dict[str, Any], names: list[str], document: dict[str, Any]) -> list[dict[str, Any]]:
    schema = resolve_reference(schema, document)
    matches = []
    for part in (*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])):
        matches += fields_of(part, names, document)
    if "items" in schema:
        matches += fields_of(schema["items"], names, document)
    if names[0] in schema.get("properties", {}):
        nested = schema["properties"][names[0]]
        if len(names) > 1:
            matches += fields_of(nested, names[1:], document)
        elif "$ref" in nested:  # OpenAPI 3.0 ignores siblings of `$ref`
            schema["properties"][names[0]] = wrapped = {"allOf": [nested]}
            matches.append(wrapped)
        else:
            matches.append(nested)
    return matches


def resolve_reference(part: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        target: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        part = target
    return part
