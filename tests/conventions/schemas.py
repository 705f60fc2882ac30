"""Schemas of request bodies in the OpenAPI document."""

from collections.abc import Iterator
from typing import Any

from config.pages import openapi_document
from kit.rest.deprecated import resolve_reference
from tests.conventions.endpoints import Endpoint

DOCUMENT = openapi_document()


def parts_of(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the schema and those that it combines, without references."""
    schema = resolve_reference(schema, DOCUMENT)
    yield schema
    for part in (*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])):
        yield from parts_of(part)


def schema_of(endpoint: Endpoint) -> dict[str, Any]:
    """Return the schema of its body. The document names the parameters of the path differently."""
    form = [part.startswith("{") or part for part in endpoint.path.split("/")]
    paths = DOCUMENT["paths"].items()
    [operations] = [one for path, one in paths if [part.startswith("{") or part for part in path.split("/")] == form]
    schema: dict[str, Any] = operations[endpoint.method.lower()]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    return schema
