"""Errors as problem details (RFC 9457), for clients that prefer them in `Accept`; and their links and examples."""

from collections.abc import Mapping
from http.client import responses
from typing import NotRequired, TypedDict

from django.conf import settings
from django.http.request import MediaType

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


PROBLEM, JSON = "application/problem+json", "application/json"


def prefers_problem(accept: str) -> bool:
    """Whether `accept` ranks problem details above JSON. Ranges such as `*/*` count for neither."""
    return quality(accept, PROBLEM) > quality(accept, JSON)


def quality(accept: str, media: str) -> float:
    """Return the weight of a media type that `accept` names; 0 if it does not."""
    accept = accept.lower()
    if media not in accept:
        return 0
    parts = (part for part in accept.split(",") if part.partition(";")[0].strip() == media)
    return next((MediaType(part).quality for part in parts), 0)


def as_problem(status: int, error: Mapping[str, object]) -> dict[str, object]:
    """Build problem details from the envelope's `error`, which stays available as a member."""
    title = responses.get(status, str(error["code"]))
    return {"type": "about:blank", "title": title, "status": status, "detail": error["message"], "error": error}
