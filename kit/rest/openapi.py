"""What every operation of the OpenAPI document says alike: its errors, its headers, its security.

What an operation says of itself beyond its view is in its app's `examples` module, under `OPERATIONS`.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc

from kit.rest.error_examples import DESCRIPTIONS, documented_errors, error_example, error_types
from kit.rest.export import CSV, FORMATS, JSONL
from kit.values import ids

JSON = "application/json"
EVERY_RESPONSE = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id")
HEADERS: dict[str, Any] = {
    "X-RateLimit-Limit": {
        "description": "Requests allowed in the window that has the least left, the UTC minute or the UTC day.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 300},
    },
    "X-RateLimit-Remaining": {
        "description": "Requests left in it.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 299},
    },
    "X-RateLimit-Reset": {
        "description": "When it begins anew, in Unix seconds.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 1767225600},
    },
    "X-Request-Id": {
        "description": "Names this request in the log: the one that was sent, or one made for it.",
        "required": True,
        "schema": {"type": "string", "example": "req_019b76da80007cc0a5c1d3a1f0b6e7f2"},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the kept reply to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {
        "description": "Seconds to wait, as in `retryAfter`.",
        "schema": {"type": "integer", "minimum": 1, "example": 42},
    },
    "WWW-Authenticate": {"description": "How to authenticate.", "required": True, "schema": {"type": "string"}},
}
FURTHER_HEADERS = {"401": ["WWW-Authenticate"], "409": ["Retry-After"], "429": ["Retry-After"], "503": ["Retry-After"]}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes a retry safe: for 24 hours the same request is answered with its first reply.",
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
}
FORMAT = {
    "name": "format",
    "in": "query",
    "description": "`csv` or `jsonl` for a file with everything that matches, as `Accept` can ask for too.",
    "schema": {"type": "string", "enum": list(FORMATS), "default": "json"},
}
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
        success["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        if self.documented:
            success["content"][JSON]["example"] = self.documented.response
            if self.documented.request is not None:
                operation["requestBody"]["content"][JSON]["example"] = self.documented.request
        if self.has_idempotency:
            operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
        if self.view.action in self.view.exportable:
            operation.setdefault("parameters", []).append(FORMAT)
            success["content"].update(FILES)
        for parameter in operation.get("parameters", []):
            if parameter["in"] == "path":
                parameter |= {"schema": self.path_id(), "description": "The resource's id."}
            elif parameter["schema"].get("type") == "array":
                parameter |= {"style": "form", "explode": False, "description": "Comma-separated."}
        if "requestBody" in operation:
            operation["requestBody"]["required"] = True
        needed = " and ".join(f"`{one}`" for one in self.view.required_permissions())
        if needed:
            text = operation.get("description", "")
            plural = "s" if " and " in needed else ""
            operation["description"] = f"{text}\n\nNeeds the permission{plural} {needed}.".strip()
        for status, codes in self.errors().items():
            responses[status] = {"$ref": f"#/components/responses/{response_name(status, codes)}"}
        return operation

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
        status, _, codes = name.removeprefix("Error").partition("_")
        told = tuple(codes.split("_or_")) if codes else tuple(documented_errors()[status])
        components["responses"][name] = error_response(status, told)
    without_internal_marks(result)
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
