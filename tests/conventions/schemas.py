"""Schemas of request bodies in the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

from config.pages import openapi_document
from kit.openapi.deprecations import resolve_reference
from tests.conventions.endpoints import Endpoint

Path = tuple[str | int, ...]
DOCUMENT = openapi_document()


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and those that it combines, without references."""
    schema = resolve_reference(schema, DOCUMENT)
    yield schema
    for part in (*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])):
        yield from parts_of(part)


def fields_of(schema: dict[str, Any], body: Any, path: Path = ()) -> Iterator[tuple[Path, dict[str, Any], bool]]:
    """Yield each field, also of the parts that the body has: its path, its schema, and whether it is required."""
    parts = list(parts_of(schema))
    if isinstance(body, list) and body:
        items = next(part["items"] for part in parts if "items" in part)
        yield (*path, 0), items, True
        yield from fields_of(items, body[0], (*path, 0))
    elif isinstance(body, dict):
        required = {name for part in parts for name in part.get("required", ())}
        others = [part["additionalProperties"] for part in parts if isinstance(part.get("additionalProperties"), dict)]
        fields = [(name, field) for part in parts for name, field in part.get("properties", {}).items()]
        yield from (((*path, name), others[0], True) for name in body if others and name not in dict(fields))
        for name, field in fields:
            yield (*path, name), field, name in required
            yield from fields_of(field, body.get(name), (*path, name))


def types_of(schema: dict[str, Any]) -> set[str]:
    """Return the JSON types of a field's values; none if it takes any value."""
    types: set[str] = set()
    for part in parts_of(schema):
        names = part.get("type", [])
        types |= {names} if isinstance(names, str) else set(names)
    return types


def schema_of(endpoint: Endpoint) -> dict[str, Any]:
    """Return the schema of its body. The document names the parameters of the path differently."""
    form = [part.startswith("{") or part for part in endpoint.path.split("/")]
    paths = DOCUMENT["paths"].items()
    [operations] = [one for path, one in paths if [part.startswith("{") or part for part in path.split("/")] == form]
    content = operations[endpoint.method.lower()]["requestBody"]["content"]
    schema: dict[str, Any] = content["application/json"]["schema"]
    return schema
