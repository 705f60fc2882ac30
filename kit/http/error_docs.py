"""The options and examples of errors, and their links to the errors reference (docs/reference/errors.md)."""

from typing import NotRequired, TypedDict

from django.conf import settings

ERRORS_PAGE = "/docs/reference/errors/"


def doc_url(code: str) -> str:
    """Return the address of an error code's documentation; without BASE_URL relative to the service's host."""
    return f"{settings.BASE_URL}{ERRORS_PAGE}#{code}"


class ErrorOptions(TypedDict, total=False):
    """Options of errors of a request's fields, parameters and headers."""

    param: str | None
    retry_after: int | None
    headers: dict[str, str] | None


class ErrorExample(TypedDict):
    """An example of an error, as documentation shows it."""

    message: str
    param: NotRequired[str]
    kind: NotRequired[str]
    retryAfter: NotRequired[int]
