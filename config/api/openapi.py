"""What every operation of the OpenAPI document says alike: its errors, its headers, its security."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

ERROR_REF = {"$ref": "#/components/schemas/Error"}
RATE_LIMIT_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
ERRORS = {
    "400": "The request is malformed: its body, a query parameter, a header or the cursor.",
    "401": "No key was sent, or one that is not valid.",
    "403": "The key lacks the permission, or the address is not in its allowlist.",
    "404": "There is no such resource.",
    "409": "It exists already, is in use, or a request with the same Idempotency-Key is running.",
    "413": "The body is larger than 1 MiB.",
    "415": "The body is not JSON.",
    "422": "A field is missing or wrong, or the Idempotency-Key belongs to another request.",
    "429": "The plan's limit is used up.",
    "500": "Something went wrong.",
    "503": "The database does not answer. A failure never allows access.",
}
ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "type"],
            "properties": {
                "code": {"type": "string", "description": "Machine-readable and stable."},
                "message": {"type": "string", "description": "For people; names what is wrong."},
                "type": {"type": "string"},
                "param": {"type": "string", "description": "The offending field, parameter or header."},
                "retryAfter": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
            },
        }
    },
    "example": {
        "error": {
            "code": "invalid_request",
            "message": "This field is required.",
            "type": "validation_error",
            "param": "title",
        }
    },
}
HEADERS: dict[str, Any] = {
    "X-RateLimit-Limit": {
        "description": "Requests allowed in the window that has the least left.",
        "schema": {"type": "integer"},
    },
    "X-RateLimit-Remaining": {"description": "Requests left in it.", "schema": {"type": "integer"}},
    "X-RateLimit-Reset": {"description": "When it begins anew, in Unix seconds.", "schema": {"type": "integer"}},
    "X-Request-Id": {"description": "Names this request in the log.", "schema": {"type": "string"}},
    "Idempotent-Replayed": {
        "description": "`true` if this is the kept reply to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}},
}
IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes a retry safe: for 24 hours the same request is answered with its first reply.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[\\x21-\\x7e]{1,255}$"},
}


class BearerAuthentication(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: svc_sk_… or svc_pk_…"}


class ApiSchema(AutoSchema):
    def get_operation(self, *args: Any, **kwargs: Any) -> Any:
        operation = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        method = self.method.upper()
        if method == "POST" and self.view.permissions_required:
            operation.setdefault("parameters", []).append(IDEMPOTENCY_KEY)
        permission = self.view.required_permission(method)
        if permission:
            text = operation.get("description", "")
            operation["description"] = f"{text}\n\nNeeds the permission `{permission}`.".strip()
        for status in self.errors(method):
            operation["responses"][status] = {
                "description": ERRORS[status],
                "content": {"application/json": {"schema": ERROR_REF}},
            }
        for status, response in operation["responses"].items():
            names = [*RATE_LIMIT_HEADERS, "X-Request-Id"]
            if status in ("429", "503"):
                names.append("Retry-After")
            if method == "POST" and status.startswith("2"):
                names.append("Idempotent-Replayed")
            response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
        return operation

    def errors(self, method: str) -> list[str]:
        if not self.view.permissions_required:
            return ["400", "429", "500", "503"]
        statuses = ["400", "401", "403", "429", "500", "503"]
        # A check names its item in the body.
        if "{" in self.path or self.path.endswith("/access/check"):
            statuses.append("404")
        if method in ("POST", "PATCH"):
            statuses += ["409", "413", "415", "422"]
        elif method == "DELETE":
            statuses.append("409")
        return sorted(statuses)

    def get_operation_id(self) -> str:
        """As in `listContent`, `getContentById`, `createAccessCheck`."""
        verbs = {"GET": "get", "POST": "create", "PATCH": "update", "DELETE": "delete"}
        words = [
            word.strip("{}").replace("-", " ").title().replace(" ", "")
            for word in self.path.removeprefix("/v1/").split("/")
        ]
        return verbs[self.method.upper()] + "".join(f"By{word}" if word == "Id" else word for word in words)

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/v1/").split("/")[0]]


def only_v1(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/v1/")]


def shared_components(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Adds what the operations refer to, and what a serializer's class says of its schema.

    `sometimes`: fields that not every response has. `schema_extra`: further keywords.
    """
    schemas = result["components"]["schemas"]
    schemas["Error"] = ERROR_SCHEMA
    result["components"]["headers"] = HEADERS
    for component in generator.registry._components.values():
        schema = schemas.get(component.name)
        if component.type != "schemas" or schema is None:
            continue
        sometimes = getattr(component.object, "sometimes", frozenset())
        required = [name for name in schema.pop("required", []) if name not in sometimes]
        if required:
            schema["required"] = required
        is_request = component.name.endswith("Request")
        if is_request and not component.name.startswith("Patched"):
            schema.update(getattr(component.object, "schema_extra", {}))
        if is_request:
            schema.setdefault("additionalProperties", True)
    return result
