"""What the OpenAPI document shows of an error: for each code its status, its type, and a reply that carries it."""

from typing import Any

ERRORS: dict[str, dict[str, Any]] = {
    "400": {
        "description": "The request is malformed: its body, a query parameter, a header or the cursor.",
        "codes": ["invalid_request"],
    },
    "401": {
        "description": "No key was sent, or one that is unknown, malformed, revoked or expired.",
        "codes": ["missing_api_key", "invalid_api_key"],
    },
    "403": {
        "description": "The key lacks the permission, or the address is not in its allowlist.",
        "codes": ["insufficient_permissions", "ip_not_allowed"],
    },
    "404": {"description": "There is no such resource.", "codes": ["resource_not_found"]},
    "409": {
        "description": "The resource exists already, is in use or revoked, or a request with this Idempotency-Key is "
        "running.",
        "codes": ["resource_already_exists", "resource_in_use", "resource_revoked", "idempotency_conflict"],
    },
    "412": {
        "description": "The resource is in another state than `If-Match` names. Nothing was written.",
        "codes": ["precondition_failed"],
    },
    "413": {"description": "The body is larger than 1 MiB.", "codes": ["request_too_large"]},
    "415": {"description": "The body is not JSON.", "codes": ["unsupported_media_type"]},
    "422": {
        "description": "A field is missing or wrong, or the Idempotency-Key belongs to another request.",
        "codes": ["invalid_request", "idempotency_mismatch"],
    },
    "429": {
        "description": "The plan's limit is used up. A refused request consumes nothing.",
        "codes": ["rate_limit_exceeded"],
    },
    "500": {"description": "Something went wrong on the service's side.", "codes": ["internal_error"]},
    "503": {
        "description": "The database does not answer. A failure never allows access.",
        "codes": ["service_unavailable"],
    },
}
TYPES = {
    "invalid_request": "validation_error",
    "missing_api_key": "authentication_error",
    "invalid_api_key": "authentication_error",
    "insufficient_permissions": "authorization_error",
    "ip_not_allowed": "authorization_error",
    "resource_not_found": "not_found_error",
    "resource_already_exists": "conflict_error",
    "resource_in_use": "conflict_error",
    "resource_revoked": "conflict_error",
    "idempotency_conflict": "conflict_error",
    "precondition_failed": "conflict_error",
    "request_too_large": "invalid_request_error",
    "unsupported_media_type": "invalid_request_error",
    "idempotency_mismatch": "idempotency_error",
    "rate_limit_exceeded": "rate_limit_error",
    "internal_error": "api_error",
    "service_unavailable": "api_error",
}
MESSAGES: dict[str, dict[str, Any]] = {
    "missing_api_key": {"message": "Send your API key as Authorization: Bearer <API_KEY>."},
    "invalid_api_key": {"message": "This API key has been revoked."},
    "insufficient_permissions": {"message": "This key lacks the permission content:write."},
    "ip_not_allowed": {"message": "The address 198.51.100.7 is not in this key's allowlist."},
    "resource_not_found": {"message": "There is no such resource."},
    "resource_already_exists": {
        "message": "There is an item with the externalId 'article-17' already.",
        "param": "externalId",
    },
    "resource_in_use": {"message": "2 content items still link to this policy."},
    "resource_revoked": {"message": "This licence is revoked, which is final. Issue another one."},
    "idempotency_conflict": {
        "message": "The first request with this Idempotency-Key is still running.",
        "retryAfter": 1,
    },
    "precondition_failed": {"message": "The resource has changed since it was read. Read it again, then change it."},
    "request_too_large": {"message": "The body is larger than 1 MiB."},
    "unsupported_media_type": {"message": "Send application/json, not text/plain."},
    "idempotency_mismatch": {"message": "This Idempotency-Key was used for another request."},
    "rate_limit_exceeded": {
        "message": "The limit of 60 requests is used up. Try again in 42 seconds.",
        "retryAfter": 42,
    },
    "internal_error": {"message": "Something went wrong on our side. The request id names it in our log."},
    "service_unavailable": {
        "message": "The service cannot reach its database. Try again shortly.",
        "retryAfter": 1,
    },
}
MALFORMED = {"message": "The body is not JSON: Expecting value (line 1, column 10)."}
WRONG_FIELD = {"message": "This field is required.", "param": "title"}


def error_example(status: str, code: str) -> dict[str, Any]:
    """The body of an error reply."""
    told = MESSAGES.get(code) or (MALFORMED if status == "400" else WRONG_FIELD)
    message, *rest = told.items()
    return {"error": dict([("code", code), message, ("type", TYPES[code]), *rest])}
