"""Parts that operations of the OpenAPI document share: errors, headers, security.

Details of one operation beyond its view are in its app's `examples` module, under `OPERATIONS`.
"""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry, get_doc
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.utils import Direction

from kit.http.parsing import JSON, PATCH_TYPES
from kit.openapi import fields as _fields  # noqa: F401 - registers how fields are described
from kit.openapi.components import Components, enumerations, path_id, used_schemas, without_null
from kit.openapi.error_examples import documented_errors
from kit.openapi.errors import EVERY_RESPONSE, error_response, error_schemas, response_name
from kit.openapi.examples import Operation
from kit.openapi.headers import HEADERS, IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH
from kit.rest.export import CSV, FORMATS, JSONL
from kit.rest.resources import fields_parameter
from kit.rest.serializers import StrictSerializer
from kit.rest.views import ApiViewSet

FORMAT: dict[str, object] = {
    "name": "format",
    "in": "query",
    "description": "`csv` or `jsonl` for a file with everything that matches, as `Accept` can ask for too.",
    "schema": {"type": "string", "enum": list(FORMATS), "default": "json"},
}
AFTER: dict[str, object] = {
    "name": "after",
    "in": "query",
    "description": "Continues a file that broke off: the `id` of its last complete row. The rest has no CSV head. "
    "It begins where that row is now: sort by `created`, which never changes.",
    "schema": {"type": "string"},
}
BOM: dict[str, object] = {
    "name": "bom",
    "in": "query",
    "description": "`true` begins a CSV file with a byte order mark, by which Excel recognises UTF-8.",
    "schema": {"type": "string", "enum": ["true", "false"], "default": "false"},
}
NOT_MODIFIED = "NotModified"
FILES: dict[str, object] = {
    CSV: {"schema": {"type": "string"}},
    JSONL: {"schema": {"type": "string"}},
}


class ApiSchema(AutoSchema):
    @property
    def endpoint(self) -> ApiViewSet[Model]:
        if not isinstance(self.view, ApiViewSet):
            raise TypeError(f"{self.view} is no ApiViewSet")
        return self.view

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> dict[str, object] | None:
        operation = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is None:
            return None
        responses = operation["responses"]
        parameters = [*operation.get("parameters", []), *self.further_parameters()]
        for status, success in responses.items():
            success["description"] = "Created." if status == "201" else "Done."
            names = self.headers(is_creation="201" in responses)
            success["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
            if self.documented:
                success["content"][JSON]["example"] = self.documented.response
            if FORMAT in parameters:
                success["content"].update(FILES)
        if self.documented and self.documented.request is not None:
            operation["requestBody"]["content"][JSON]["example"] = self.documented.request
        for parameter in parameters:
            if parameter["in"] == "path":
                model = self.endpoint.path_models.get(parameter["name"], self.endpoint.queryset.model)
                parameter |= {"schema": path_id(model), "description": "The resource's id."}
            elif parameter["schema"].get("type") == "array":
                parameter |= {"style": "form", "explode": False}
        if parameters:
            operation["parameters"] = parameters
        if "requestBody" in operation:
            body = operation["requestBody"]
            body |= {"required": True, "content": self.contents(body["content"])}
        needed = " and ".join(f"`{one}`" for one in self.endpoint.required_permissions())
        if needed:
            text = operation.get("description", "")
            plural = "s" if " and " in needed else ""
            operation["description"] = f"{text}\n\nNeeds the permission{plural} {needed}.".strip()
        responses.update(self.further_responses(parameters))
        return operation

    def headers(self, *, is_creation: bool) -> list[str]:
        """Return the names of the headers of a success."""
        view = self.endpoint
        names = list(EVERY_RESPONSE)
        if self.has_idempotency:
            names.append("Idempotent-Replayed")
        if view.action in view.tagged:
            names.append("ETag")
        if view.action in view.tagged and is_creation:
            names.append("Location")
        if view.action in view.heavy | view.exportable.keys():
            names.append("As-Of")
        return names

    def further_responses(self, parameters: list[dict[str, object]]) -> dict[str, dict[str, str]]:
        names = {"304": NOT_MODIFIED} if IF_NONE_MATCH in parameters else {}
        names |= {status: response_name(status, codes) for status, codes in self.errors().items()}
        return {status: {"$ref": f"#/components/responses/{name}"} for status, name in names.items()}

    def contents(self, content: dict[str, object]) -> dict[str, object]:
        """Return the media types of a body."""
        return dict.fromkeys(PATCH_TYPES, content[JSON]) if self.method.upper() == "PATCH" else content

    def further_parameters(self) -> list[dict[str, object]]:
        """Return the parameters that every view of this kind has and drf-spectacular does not know."""
        view = self.endpoint
        is_read = self.method.upper() == "GET"
        further = []
        if self.has_idempotency:
            further.append(IDEMPOTENCY_KEY)
        if view.action in view.conditional:
            further.append(IF_MATCH)
        if is_read and view.action in view.tagged:
            further.append(IF_NONE_MATCH)
        if view.action in view.exportable:
            further.append(FORMAT)
        if view.action in view.exportable and view.action in view.listing:
            further += [AFTER, BOM]
        if is_read and view.has_fields():
            further.append(fields_parameter(view.serializer_class))
        return further

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, object]:
        # drf-spectacular assumes that DELETE returns no body; here it returns the result.
        if self.method.upper() != "DELETE":
            return super()._get_response_bodies(direction)
        return {"200": self._get_response_for_code(self.get_response_serializers(), "200", direction=direction)}

    @property
    def documented(self) -> Operation | None:
        app = type(self.endpoint).__module__.partition(".")[0]
        found: Operation | None = import_module(f"{app}.examples").OPERATIONS.get(f"{self.method.upper()} {self.path}")
        return found

    @property
    def has_idempotency(self) -> bool:
        return self.method.upper() == "POST" and bool(self.endpoint.permissions_required)

    def errors(self) -> dict[str, tuple[str, ...]]:
        """Return the error codes of this operation by status."""
        method = self.method.upper()
        own = self.documented.codes if self.documented else ()
        possible = {"invalid_request", "rate_limit_exceeded", "internal_error", "service_unavailable", *own}
        if self.endpoint.permissions_required:
            possible |= {"missing_api_key", "invalid_api_key", "insufficient_permissions", "ip_not_allowed"}
        if "{" in self.path:
            possible.add("resource_not_found")
        if method in ("POST", "PATCH"):
            possible |= {"request_too_large", "unsupported_media_type"}
        if self.has_idempotency:
            possible |= {"idempotency_conflict", "idempotency_mismatch"}
        if self.endpoint.action in self.endpoint.conditional:
            possible.add("precondition_failed")
        codes = {
            status: tuple(code for code in of_status if code in possible)
            for status, of_status in documented_errors().items()
        }
        if method not in ("POST", "PATCH"):
            del codes["422"]
        return {status: of_status for status, of_status in codes.items() if of_status}

    def get_operation_id(self) -> str:
        operation_id: str = self.documented.id if self.documented else super().get_operation_id()
        return operation_id

    def get_description(self, path: str = "", method: str = "") -> str:
        # The action's own docstring. drf-spectacular would fall back to the class's, which is for developers.
        return get_doc(getattr(self.endpoint, self.endpoint.action))

    def get_tags(self) -> list[str]:
        name = self.path.removeprefix("/v1/").split("/")[0]
        return ["webhook-endpoints" if name == "webhooks" else name]  # `webhooks` are the events that we send


Endpoint = tuple[str, str, str, Callable[..., HttpResponse]]  # path, regular expression, method, view


def only_v1(endpoints: list[Endpoint]) -> list[Endpoint]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def complete(schema: dict[str, Any], of: Any, *, is_request: bool) -> None:
    """Add what the serializer knows about its schema; its `sometimes` names fields that some responses lack."""
    if is_request:
        # Requests reject other fields. Read-only fields are ignored, so they need no mention.
        schema.setdefault("additionalProperties", False)
        return
    sometimes: frozenset[str] = getattr(of, "sometimes", frozenset())
    properties = schema.get("properties", {})
    # Responses contain the fields that a request may omit.
    always = properties if isinstance(of, StrictSerializer) else schema.get("required", [])
    required = [name for name in always if name not in sometimes]
    schema.pop("required", None)
    if required:
        schema["required"] = required
    for name, field in of.fields.items():
        is_never_null = getattr(field, "null_is_empty", False) or name in getattr(of, "null_is_default", ())
        if is_never_null and name in properties:
            properties[name] = without_null(properties[name])


def shared_components(
    result: dict[str, Any], generator: SchemaGenerator, request: HttpRequest | None, public: bool
) -> dict[str, Any]:
    """Add the components that operations refer to, and what serializer classes say about their schemas."""
    components = result["components"]
    schemas = components["schemas"]
    for component in generator.registry._components.values():
        schema = schemas.get(component.name)
        if component.type == "schemas" and schema is not None:
            of = component.object() if inspect.isclass(component.object) else component.object
            if getattr(of, "fields", {}).keys() >= schema.get("properties", {}).keys():  # not true of a page
                complete(schema, of, is_request=component.name.endswith("Request"))
    schemas |= error_schemas()
    components["headers"] = HEADERS
    components["responses"] = {
        reply["$ref"].rpartition("/")[2]: None
        for path in result["paths"].values()
        for operation in path.values()
        for reply in operation["responses"].values()
        if "$ref" in reply
    }
    for name in components["responses"]:
        if name == NOT_MODIFIED:
            headers = {header: {"$ref": f"#/components/headers/{header}"} for header in (*EVERY_RESPONSE, "ETag")}
            told_of = "The client has it already."
            components["responses"][name] = {"description": told_of, "headers": headers}
            continue
        status, _, codes = name.removeprefix("Error").partition("_")
        of_status = tuple(codes.split("_or_")) if codes else tuple(documented_errors()[status])
        components["responses"][name] = error_response(status, of_status)
    named = Components(enumerations(spectacular_settings.ENUM_NAME_OVERRIDES))
    result["paths"] = named.hoisted(result["paths"])
    schemas = {name: named.hoisted(schema) for name, schema in schemas.items()} | named.schemas
    components["schemas"] = {
        name: schemas[name] for name in sorted(used_schemas(schemas, result["paths"], components["responses"]))
    }
    return result
