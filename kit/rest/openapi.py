"""What every operation of the OpenAPI document says alike: its errors, its headers, its security.

What an operation says of itself beyond its view is in its app's `examples` module, under `OPERATIONS`.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc

from kit.http.parsing import JSON, PATCH_TYPES
from kit.rest import openapi_fields  # noqa: F401 - registers how fields are described
from kit.rest.components import hoisted
from kit.rest.error_examples import DESCRIPTIONS, documented_errors, error_example, error_types
from kit.rest.export import CSV, FORMATS, JSONL
from kit.rest.openapi_headers import HEADERS, IDEMPOTENCY_KEY, IF_MATCH, IF_NONE_MATCH
from kit.values import ids

EVERY_RESPONSE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")
FURTHER_HEADERS = {"401": ["WWW-Authenticate"], "409": ["Retry-After"], "429": ["Retry-After"], "503": ["Retry-After"]}
FORMAT = {
    "name": "format",
    "in": "query",
    "description": "`csv` or `jsonl` for a file with everything that matches, as `Accept` can ask for too.",
    "schema": {"type": "string", "enum": list(FORMATS), "default": "json"},
}
NOT_MODIFIED = "NotModified"
FILES: dict[str, Any] = {
    CSV: {"schema": {"type": "string"}},
    JSONL: {"schema": {"type": "string"}},
}


@dataclass(frozen=True)
class Operation:
    """What the document says of one operation: its id, examples of its request and of its success, its own codes."""

    id: str
    response: dict[str, Any]
    request: dict[str, Any] | None = None
    codes: tuple[str, ...] = ()


class ApiSchema(AutoSchema):
    view: Any  # an ApiViewSet

    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        responses = operation["responses"]
        [success] = responses.values()
        success["description"] = "Created." if "201" in responses else "Done."
        names = [*EVERY_RESPONSE, *(["Idempotent-Replayed"] if self.has_idempotency else [])]
        if self.view.action in self.view.tagged:
            names += ["ETag", *(["Location"] if "201" in responses else [])]
        success["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        if self.documented:
            success["content"][JSON]["example"] = self.documented.response
            if self.documented.request is not None:
                operation["requestBody"]["content"][JSON]["example"] = self.documented.request
        if self.has_idempotency:
            operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
        self.add_conditions(operation)
        if self.view.action in self.view.exportable:
            operation.setdefault("parameters", []).append(FORMAT)
            success["content"].update(FILES)
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter |= {"schema": self.path_id(), "description": "The resource's id."}
            elif parameter["schema"].get("type") == "array":
                parameter |= {"style": "form", "explode": False}
        if "requestBody" in operation:
            self.complete_body(operation["requestBody"])
        needed = " and ".join(f"`{one}`" for one in self.view.required_permissions())
        if needed:
            text = operation.get("description", "")
            plural = "s" if " and " in needed else ""
            operation["description"] = f"{text}\n\nNeeds the permission{plural} {needed}.".strip()
        for status, codes in self.errors().items():
            responses[status] = {"$ref": f"#/components/responses/{response_name(status, codes)}"}
        return operation

    def complete_body(self, body: dict[str, Any]) -> None:
        body["required"] = True
        if self.method.upper() == "PATCH":
            body["content"].update(dict.fromkeys(PATCH_TYPES, body["content"][JSON]))

    def add_conditions(self, operation: dict[str, Any]) -> None:
        if self.view.action in self.view.conditional:
            operation.setdefault("parameters", []).append(IF_MATCH)
        if self.view.action in self.view.tagged and self.method.upper() == "GET":
            operation.setdefault("parameters", []).append(IF_NONE_MATCH)
            operation["responses"]["304"] = {"$ref": f"#/components/responses/{NOT_MODIFIED}"}

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        # drf-spectacular takes a DELETE to answer with nothing; here it answers with what it did.
        if self.method.upper() != "DELETE":
            return super()._get_response_bodies(direction)
        return {"200": self._get_response_for_code(self.get_response_serializers(), "200", direction=direction)}

    @property
    def documented(self) -> Operation | None:
        app = type(self.view).__module__.partition(".")[0]
        found: Operation | None = import_module(f"{app}.examples").OPERATIONS.get(f"{self.method.upper()} {self.path}")
        return found

    @property
    def has_idempotency(self) -> bool:
        return self.method.upper() == "POST" and bool(self.view.permissions_required)

    def errors(self) -> dict[str, tuple[str, ...]]:
        """The codes that this operation answers with, by status."""
        method = self.method.upper()
        own = self.documented.codes if self.documented else ()
        possible = {"invalid_request", "rate_limit_exceeded", "internal_error", "service_unavailable", *own}
        if self.view.permissions_required:
            possible |= {"missing_api_key", "invalid_api_key", "insufficient_permissions", "ip_not_allowed"}
        if "{" in self.path:
            possible.add("resource_not_found")
        if method in ("POST", "PATCH"):
            possible |= {"request_too_large", "unsupported_media_type"}
        if self.has_idempotency:
            possible |= {"idempotency_conflict", "idempotency_mismatch"}
        if self.view.action in self.view.conditional:
            possible.add("precondition_failed")
        codes = {
            status: tuple(code for code in of_status if code in possible)
            for status, of_status in documented_errors().items()
        }
        if method not in ("POST", "PATCH"):
            del codes["422"]
        return {status: of_status for status, of_status in codes.items() if of_status}

    def path_id(self) -> dict[str, Any]:
        prefix = self.view.queryset.model._meta.pk.prefix
        return {
            "type": "string",
            "pattern": f"^{prefix}_{ids.TEXT}$",
            "example": ids.encode(prefix, bytes(range(1, 17))),
        }

    def get_operation_id(self) -> str:
        operation_id: str = self.documented.id if self.documented else super().get_operation_id()
        return operation_id

    def get_description(self, *args: Any, **kwargs: Any) -> str:
        # The action's own words: drf-spectacular would take its class's instead, which are for whoever works on it.
        return get_doc(getattr(self.view, self.view.action))

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/v1/").split("/")[0]]


def only_v1(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def response_name(status: str, codes: tuple[str, ...]) -> str:
    everything = codes == tuple(documented_errors()[status])
    return f"Error{status}" if everything else f"Error{status}_{'_or_'.join(codes)}"


def error_schema() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message", "type"],
                "properties": {
                    "code": {"type": "string", "description": "Machine-readable and stable."},
                    "message": {"type": "string", "description": "For people; names what is wrong."},
                    "type": {"type": "string", "enum": error_types()},
                    "param": {"type": "string", "description": "The offending field, parameter or header."},
                    "retryAfter": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
                },
            }
        },
    }


def error_response(status: str, codes: tuple[str, ...]) -> dict[str, Any]:
    names = [*EVERY_RESPONSE, *FURTHER_HEADERS.get(status, [])]
    of_status = {
        "type": "object",
        "properties": {"error": {"type": "object", "properties": {"code": {"enum": codes}}}},
    }
    return {
        "description": DESCRIPTIONS[int(status)],
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {
            JSON: {
                "schema": {"allOf": [{"$ref": "#/components/schemas/Error"}, of_status]},
                "examples": {code: {"value": error_example(documented_errors()[status][code])} for code in codes},
            }
        },
    }


def shared_components(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Adds what the operations refer to, and what a serializer's class says of its schema.

    `sometimes`: fields that not every response has.
    """
    components = result["components"]
    schemas = components["schemas"]
    for component in generator.registry._components.values():
        schema = schemas.get(component.name)
        if component.type != "schemas" or schema is None:
            continue
        sometimes: frozenset[str] = getattr(component.object, "sometimes", frozenset())
        required = [name for name in schema.pop("required", []) if name not in sometimes]
        if required:
            schema["required"] = required
        if component.name.endswith("Request"):
            # Other fields are refused; those of the service's own are ignored, but nobody needs to send them.
            schema.setdefault("additionalProperties", False)
    schemas["Error"] = error_schema()
    components["headers"] = HEADERS
    components["responses"] = {
        reference["$ref"].rpartition("/")[2]: None
        for path in result["paths"].values()
        for operation in path.values()
        for reference in operation["responses"].values()
        if "$ref" in reference
    }
    for name in components["responses"]:
        if name == NOT_MODIFIED:
            headers = {header: {"$ref": f"#/components/headers/{header}"} for header in (*EVERY_RESPONSE, "ETag")}
            told_of = "The client has it already."
            components["responses"][name] = {"description": told_of, "headers": headers}
            continue
        status, _, codes = name.removeprefix("Error").partition("_")
        told = tuple(codes.split("_or_")) if codes else tuple(documented_errors()[status])
        components["responses"][name] = error_response(status, told)
    without_internal_marks(result)
    result["paths"] = hoisted(result["paths"], schemas)
    for name in list(schemas):
        schemas[name] = hoisted(schemas[name], schemas)
    components["schemas"] = dict(sorted(schemas.items()))
    return result


def without_internal_marks(value: Any) -> None:
    """Drops drf-spectacular's `x-spec-enum-id`, which is of no use to a reader."""
    if isinstance(value, dict):
        value.pop("x-spec-enum-id", None)
        for nested in value.values():
            without_internal_marks(nested)
    elif isinstance(value, list):
        for nested in value:
            without_internal_marks(nested)
