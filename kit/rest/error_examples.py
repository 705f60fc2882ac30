"""The errors as documents show them, derived from the classes in kit.http.errors."""

from collections.abc import Iterator
from typing import Any

from kit.http.errors import ApiError

DESCRIPTIONS = {
    400: "The request is malformed: its body, a query parameter, a header or the cursor.",
    401: "No key was sent, or one that is unknown, malformed, revoked or expired.",
    403: "The key lacks the permission, or the address is not in its allowlist.",
    404: "There is no such resource.",
    405: "The method is not possible at this path; `Allow` names those that are.",
    409: "The resource exists already, is in use, or a request with this Idempotency-Key is running.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not JSON.",
    422: "A field is missing or wrong, or the Idempotency-Key belongs to another request.",
    429: "The plan's limit is used up. A refused request consumes nothing.",
    500: "Something went wrong on the service's side.",
    503: "The database does not answer. A failure never allows access.",
}


def error_classes(base: type[ApiError] = ApiError) -> Iterator[type[ApiError]]:
    """All errors that have an example of their own, each before those derived from it."""
    for error in base.__subclasses__():
        if "example" in vars(error):
            yield error
        yield from error_classes(error)


def documented_errors() -> dict[str, dict[str, type[ApiError]]]:
    """By status and code, ascending by status."""
    errors: dict[str, dict[str, type[ApiError]]] = {str(status): {} for status in sorted(DESCRIPTIONS)}
    for error in error_classes():
        errors[str(error.status_code)][error.code] = error
    return errors


def error_types() -> list[str]:
    return sorted({error.type for error in error_classes()})


def error_example(error: type[ApiError]) -> dict[str, Any]:
    """The body of a reply with the error."""
    if error.example is None:
        raise ValueError(f"{error.__name__} has no example.")
    message, *rest = error.example.items()
    return {"error": dict([("code", error.code), message, ("type", error.type), *rest])}
