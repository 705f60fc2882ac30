"""Replies to errors: what any exception means to a client, and its envelope or problem details (RFC 9457)."""

import logging
from collections.abc import Mapping
from http.client import responses
from typing import TypedDict

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.db import InternalError as DatabaseInternalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.request import MediaType
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from kit import statement_timeout
from kit.http.errors import (
    ApiError,
    ClientGone,
    InternalError,
    InvalidRequest,
    NotFound,
    RequestTooLarge,
    ServiceUnavailable,
    ValidationFailed,
)
from kit.http.field_errors import all_errors
from kit.http.rendering import JSON, render_json
from kit.storage.outage_causes import outages

logger = logging.getLogger(__name__)

RETRY_LONG_AFTER = 30  # seconds
PROBLEM = "application/problem+json"


def as_api_error(exc: Exception) -> ApiError:
    """Convert an exception to an API error. Logs a traceback only for unexpected ones."""
    match exc:
        case ApiError():
            return exc
        case Http404():
            return NotFound("There is no such resource.")
        case exceptions.ValidationError():
            return ValidationFailed.from_faults(all_errors(exc.detail))
        # DatabaseInternalError: the database could not do its work
        case OperationalError() | InterfaceError() | DatabaseInternalError():
            return database_error(exc)
        case UnreadablePostError():
            return InvalidRequest("The request ended before its body did.")
        case RequestDataTooBig():
            return RequestTooLarge("The body is larger than 1 MiB.")
        case SuspiciousOperation():
            return InvalidRequest(str(exc))
    logger.error("Unhandled exception", exc_info=exc)
    return InternalError("Something went wrong on our side. The request id names it in our log.")


def forget_frames(error: BaseException) -> None:
    """Drop the tracebacks of a handled error and its causes.

    Frames hold the request with its body, and often the error itself; such a cycle would stay in memory until the next
    garbage collection.
    """
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__context__


def database_error(exc: Exception) -> ApiError:
    """Return the API error for an unreachable database or an interrupted statement."""
    if not statement_timeout.was_ended(exc):
        outages.log(logger, exc)
        return ServiceUnavailable("The service cannot reach its database. Try again shortly.", retry_after=1)
    return ClientGone() if statement_timeout.is_for_nobody() else took_too_long()


def took_too_long() -> ServiceUnavailable:
    bound = statement_timeout.bound.get()
    limit = f" than {bound.seconds} seconds" if bound is not None else ""
    message = f"This takes longer{limit}, so it was given up. Narrow the filters or the window of time."
    return ServiceUnavailable(message, retry_after=RETRY_LONG_AFTER)


def check_client_connected() -> None:
    """Raise ClientGone if the client has disconnected."""
    if statement_timeout.is_for_nobody():
        raise ClientGone()


def render_error(error: ApiError, accept: str) -> tuple[dict[str, object], str]:
    """Return the reply's body and media type: the envelope, or problem details if the client prefers them."""
    if prefers_problem(accept):
        return as_problem(error.status_code, error.as_dict()), PROBLEM
    return {"error": error.as_dict()}, JSON


class HandlerContext(TypedDict):
    """The context that DRF passes to its exception handler."""

    request: Request


def exception_handler(exc: Exception, context: HandlerContext) -> Response:
    """DRF's exception hook: turn any exception of a view into a reply."""
    error = as_api_error(exc)
    body, media_type = render_error(error, context["request"].headers.get("Accept", ""))
    return Response(body, status=error.status_code, headers=error.headers, content_type=media_type)


def error_response(error: ApiError, request: HttpRequest) -> HttpResponse:
    """Build the reply for an error raised outside a view."""
    body, media_type = render_error(error, request.headers.get("Accept", ""))
    return HttpResponse(render_json(body), status=error.status_code, headers=error.headers, content_type=media_type)


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
