"""Deprecation in requests and in the OpenAPI document: count the calls, add headers, mark the parts."""

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from drf_spectacular.generators import SchemaGenerator
from prometheus_client import Counter
from rest_framework.request import Request

from kit.http.deprecations import Deprecation, headers_for, used_deprecations

calls = Counter(
    "licensing_deprecated_calls",
    "Requests that use what is deprecated, by the account whose key they had.",
    ["deprecated", "account"],
)


def deprecation_headers(
    method: str, path: str, parameters: Collection[str], body: bytes, account: str | None
) -> dict[str, str]:
    """Return the deprecation headers for a request and count its call; empty if it uses nothing deprecated."""
    those = used_deprecations(settings.DEPRECATIONS, "GET" if method == "HEAD" else method, path, parameters, body)
    for one in those:
        calls.labels(one.name, account or "").inc()
    return headers_for(those) if those else {}


def tell(request: Request, response: HttpResponse) -> None:
    """Add the deprecation headers to a DRF reply while the request's body is still available."""
    sent, grant = request._request, getattr(request, "_auth", None)  # None before authentication
    body, account = getattr(sent, "_body", b""), getattr(grant, "account_id", None)
    for name, value in deprecation_headers(str(sent.method), sent.path, sent.GET.keys(), body, account).items():
        response.headers[name] = value


def mark_deprecated(
    result: dict[str, Any], generator: SchemaGenerator, request: HttpRequest | None, public: bool
) -> dict[str, Any]:
    """Mark deprecated operations, parameters and body fields. A field is marked wherever its schema is used."""
    for one in settings.DEPRECATIONS:
        for marked in marked_by(one, result):
            marked["deprecated"] = True
            if one.sunset is not None:
                marked["x-sunset"] = one.sunset.date().isoformat()
    return result


def marked_by(one: Deprecation, document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of the document that a deprecation is about; empty if it has none."""
    operation = document["paths"].get(one.path, {}).get(one.method.lower())
    if operation is None:
        return []
    if one.parameter is not None:
        parameters = [resolve_reference(parameter, document) for parameter in operation.get("parameters", [])]
        return [
            parameter
            for parameter in parameters
            if parameter["in"] == "query" and parameter["name"].partition("[")[0] == one.parameter
        ]
    if one.field is None:
        return [operation]
    content = resolve_reference(operation.get("requestBody", {}), document).get("content", {})
    return [] if not content else fields_of(next(iter(content.values()))["schema"], one.field.split("."), document)


def fields_of(schema: dict[str, Any], names: list[str], document: dict[str, Any]) -> list[dict[str, Any]]:
    schema = resolve_reference(schema, document)
    found = []
    for part in (*schema.get("allOf", []), *schema.get("oneOf", []), *schema.get("anyOf", [])):
        found += fields_of(part, names, document)
    if "items" in schema:
        found += fields_of(schema["items"], names, document)
    if names[0] in schema.get("properties", {}):
        nested = schema["properties"][names[0]]
        if len(names) > 1:
            found += fields_of(nested, names[1:], document)
        elif "$ref" in nested:  # OpenAPI 3.0 ignores siblings of `$ref`
            schema["properties"][names[0]] = wrapped = {"allOf": [nested]}
            found.append(wrapped)
        else:
            found.append(nested)
    return found


def resolve_reference(part: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in part:
        target: Any = document
        for name in part["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        part = target
    return part
