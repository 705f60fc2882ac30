"""The error schemas and responses of the OpenAPI document."""

from kit.http.parsing import JSON
from kit.openapi.components import reference
from kit.openapi.error_examples import DESCRIPTIONS, documented_errors, error_codes, error_example, error_types
from kit.rest.bulk import DOC_URL, KIND
from kit.values.faults import FaultKind

EVERY_RESPONSE = (
    "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit", "X-Request-Id",
)  # fmt: skip
FURTHER_HEADERS = {"401": ["WWW-Authenticate"], "409": ["Retry-After"], "429": ["Retry-After"], "503": ["Retry-After"]}


def response_name(status: str, codes: tuple[str, ...]) -> str:
    everything = codes == tuple(documented_errors()[status])
    return f"Error{status}" if everything else f"Error{status}_{'_or_'.join(codes)}"


def error_response(status: str, codes: tuple[str, ...]) -> dict[str, object]:
    names = [*EVERY_RESPONSE, *FURTHER_HEADERS.get(status, [])]
    quoted = ", ".join(f"`{code}`" for code in codes)
    return {
        "description": f"{DESCRIPTIONS[int(status)]} The code: {quoted}.",
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
        "content": {
            JSON: {
                "schema": reference("Error"),
                "examples": {code: {"value": error_example(documented_errors()[status][code])} for code in codes},
            }
        },
    }


def error_schemas() -> dict[str, dict[str, object]]:
    """Return the components that describe errors, by name."""
    members: dict[str, object] = {
        "code": reference("ErrorCode"),
        "message": {"type": "string", "description": "For people; names what is wrong."},
        "type": {"type": "string", "enum": error_types(), "description": "The kind of error."},
        "docUrl": {"type": "string", "format": "uri-reference", "description": DOC_URL},
        "param": {"type": "string", "description": "The offending field, parameter or header."},
        "kind": {"type": "string", "enum": list(FaultKind), "description": KIND},
        "retryAfter": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
        "errors": {
            "type": "array",
            "items": reference("FieldError"),
            "minItems": 2,
            "description": "Where several fields are wrong: all of them, the first one among them.",
        },
    }
    return {
        "Error": {
            "type": "object",
            "description": "Why a request was refused.",
            "required": ["error"],
            "properties": {"error": reference("ErrorDetail")},
        },
        "ErrorCode": {"type": "string", "enum": error_codes(), "description": "Machine-readable and stable."},
        "ErrorDetail": {
            "type": "object",
            "description": "What is wrong.",
            "required": ["code", "message", "type"],
            "properties": members,
        },
        "FieldError": {
            "type": "object",
            "description": "What is wrong with one field.",
            "required": ["code", "message"],
            "properties": {name: members[name] for name in ("code", "message", "param", "kind")},
        },
    }
