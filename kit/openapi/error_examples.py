"""The errors as documentation shows them, derived from the classes in kit.http.errors."""

from collections.abc import Iterator

from kit.http.errors import ApiError, doc_url

DESCRIPTIONS = {
    400: "The request is malformed: its body, a query parameter, a header or the cursor.",
    401: "No key was sent, or one that is unknown, malformed, revoked or expired.",
    403: "The key lacks the permission, or the address or the host is not in its lists.",
    404: "There is no such resource.",
    405: "The method is not possible at this path; `Allow` names those that are.",
    409: "The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running.",
    412: "The resource is in another state than `If-Match` names. Nothing was written.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not JSON.",
    422: "A field is missing or wrong, or the Idempotency-Key belongs to another request.",
    429: "The plan's limit is used up. A refused request consumes nothing.",
    500: "Something went wrong on the service's side.",
    503: "The database does not answer. A failure never allows access.",
}

ADVICE = {  # what the caller can do, by code
    "invalid_request": "Correct what `param` or the message names. A cursor goes with its own filters and `sort`.",
    "missing_api_key": "Send `Authorization: Bearer <API_KEY>`.",
    "invalid_api_key": "Check the key for typing errors; have one that was revoked or has expired replaced.",
    "insufficient_permissions": "Use a key with the permission that the message names.",
    "invalid_token": "Get a new licence token. If that fails too, the client may have been revoked.",
    "insufficient_scope": "Get a token for this resource.",
    "ip_not_allowed": "Call from an address in the key's `allowedIps`, or have that list changed.",
    "host_not_allowed": "Ask with a key for that host, or have this key's `allowedHosts` changed.",
    "resource_not_found": "Check the id, and the account of the key: what belongs to other accounts is not found.",
    "method_not_allowed": "Use one of the methods in `Allow`.",
    "request_too_large": "Send less at once: split a bulk request.",
    "unsupported_media_type": "Send JSON in UTF-8.",
    "resource_already_exists": "Change the resource that exists, or choose another name.",
    "resource_in_use": "First unlink what uses it.",
    "resource_revoked": "Issue another licence.",
    "precondition_failed": "Read the resource again, make your change to what you find, and send the new `ETag`.",
    "idempotency_conflict": "Send the same request again after `Retry-After`. Without that header, the stored reply "
    "cannot be read any more: look up what the first request did.",
    "idempotency_mismatch": "Use a new key for each different request.",
    "rate_limit_exceeded": "Wait for `Retry-After`; batch checks, or ask for a larger plan.",
    "internal_error": "Try again as after a lost connection; report the request id.",
    "service_unavailable": "Try again after `Retry-After`.",
}


def error_classes(base: type[ApiError] = ApiError) -> Iterator[type[ApiError]]:
    """Yield every error class with its own example, base classes first."""
    for error in base.__subclasses__():
        if "example" in vars(error):
            yield error
        yield from error_classes(error)


def documented_errors() -> dict[str, dict[str, type[ApiError]]]:
    """Return the error classes by status and code, sorted by status."""
    errors: dict[str, dict[str, type[ApiError]]] = {str(status): {} for status in sorted(DESCRIPTIONS)}
    for error in error_classes():
        errors[str(error.status_code)][error.code] = error
    return errors


def error_codes() -> list[str]:
    return sorted({error.code for error in error_classes()})


def error_types() -> list[str]:
    return sorted({error.type for error in error_classes()})


def error_example(error: type[ApiError]) -> dict[str, object]:
    """Return the body of a reply with this error."""
    if error.example is None:
        raise ValueError(f"{error.__name__} has no example.")
    message, *rest = error.example.items()
    members = [("code", error.code), message, ("type", error.type), ("docUrl", doc_url(error.code)), *rest]
    return {"error": dict(members)}
