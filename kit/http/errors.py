"""Every error of the API: one tree, one handler, one envelope (docs/reference/api.md, Requests and errors)."""

import logging
from collections.abc import Iterable
from itertools import islice
from typing import ClassVar, NotRequired, Self, TypedDict

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.db import InternalError as DatabaseInternalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from kit import statements
from kit.http.field_errors import all_errors
from kit.http.problems import JSON, PROBLEM, as_problem, prefers_problem
from kit.http.rendering import render_json
from kit.values.faults import MAX_FAULTS

logger = logging.getLogger(__name__)


class ErrorExample(TypedDict):
    message: str
    param: NotRequired[str]
    retryAfter: NotRequired[int]


class ApiError(exceptions.APIException):
    """An error with its HTTP status, its stable `code` and `type`, and a message that names what is wrong."""

    status_code: int = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "api_error"
    # What the OpenAPI document and docs/reference/api.md show of it; a class without its own is in neither.
    example: ClassVar[ErrorExample | None] = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.further: list[ApiError] = []  # the body's other faults
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def as_dict(self) -> dict[str, object]:
        """The value of `error` in the envelope."""
        body: dict[str, object] = {"code": self.code, "message": self.message, "type": self.type}
        if self.param is not None:
            body["param"] = self.param
        if self.retry_after is not None:
            body["retryAfter"] = self.retry_after
        if self.further:
            body["errors"] = [one.as_field_error() for one in (self, *self.further)]
        return body

    def as_field_error(self) -> dict[str, str]:
        param = {} if self.param is None else {"param": self.param}
        return {"code": self.code, "message": self.message, **param}


class InvalidRequest(ApiError):
    """The request itself is malformed: its body, a query parameter, a header or the cursor."""

    status_code, code, type = 400, "invalid_request", "validation_error"
    example = {"message": "The body is not JSON: Expecting value (line 1, column 10)."}


class ValidationFailed(InvalidRequest):
    """A well-formed body in which a field is missing or wrong."""

    status_code = 422
    example = {"message": "This field is required.", "param": "title"}

    @classmethod
    def of(cls, faults: Iterable[tuple[str, str]]) -> Self:
        """The first of these faults, each its path and its message, with the others beside it."""
        (param, message), *rest = islice(faults, MAX_FAULTS)
        error = cls(message, param=param or None)
        error.further = [cls(text, param=where or None) for where, text in rest]
        return error


class UnknownTransferCoding(InvalidRequest):
    """A body in a transfer coding that this server cannot read (RFC 9112, 6.1)."""

    status_code = 501


class MissingApiKey(ApiError):
    status_code, code, type = 401, "missing_api_key", "authentication_error"
    example = {"message": "Send your API key as Authorization: Bearer <API_KEY>."}


class InvalidApiKey(MissingApiKey):
    code = "invalid_api_key"
    example = {"message": "This API key has been revoked."}


class InvalidToken(MissingApiKey):
    code = "invalid_token"
    example = {"message": "The licence token has expired."}


class InsufficientPermissions(ApiError):
    status_code, code, type = 403, "insufficient_permissions", "authorization_error"
    example = {"message": "This key lacks the permission content:write."}


class IpNotAllowed(InsufficientPermissions):
    code = "ip_not_allowed"
    example = {"message": "The address 198.51.100.7 is not in this key's allowlist."}


class HostNotAllowed(InsufficientPermissions):
    code = "host_not_allowed"
    example = {"message": "The host other.example is not in this key's `allowedHosts`."}


class InsufficientScope(InsufficientPermissions):
    code = "insufficient_scope"
    example = {"message": "The licence token is not for this resource."}


class NotFound(ApiError):
    status_code, code, type = 404, "resource_not_found", "not_found_error"
    example = {"message": "There is no such resource."}


class MethodNotAllowed(ApiError):
    status_code, code, type = 405, "method_not_allowed", "invalid_request_error"
    example = {"message": "PUT is not possible here."}


class RequestTooLarge(MethodNotAllowed):
    status_code, code = 413, "request_too_large"
    example = {"message": "The body is larger than 1 MiB."}


class UnsupportedMediaType(MethodNotAllowed):
    status_code, code = 415, "unsupported_media_type"
    example = {"message": "Send application/json, not text/plain."}


class AlreadyExists(ApiError):
    status_code, code, type = 409, "resource_already_exists", "conflict_error"
    example = {"message": "There is an item with the externalId 'article-17' already.", "param": "externalId"}


class InUse(AlreadyExists):
    code = "resource_in_use"
    example = {"message": "2 content items still link to this policy."}


class Revoked(AlreadyExists):
    code = "resource_revoked"  # for good
    example = {"message": "This licence is revoked, which is final. Issue another one."}


class PreconditionFailed(AlreadyExists):
    """The resource is in another state than If-Match names."""

    status_code, code = 412, "precondition_failed"
    example = {"message": "The resource has changed since it was read. Read it again, then change it."}


class IdempotencyConflict(AlreadyExists):
    code = "idempotency_conflict"
    example = {"message": "The first request with this Idempotency-Key is still running.", "retryAfter": 1}


class IdempotencyMismatch(ApiError):
    status_code, code, type = 422, "idempotency_mismatch", "idempotency_error"
    example = {"message": "This Idempotency-Key was used for another request."}


class RateLimitExceeded(ApiError):
    status_code, code, type = 429, "rate_limit_exceeded", "rate_limit_error"
    example = {"message": "The limit of 60 requests is used up. Try again in 42 seconds.", "retryAfter": 42}


class InternalError(ApiError):
    """An unexpected exception."""

    example = {"message": "Something went wrong on our side. The request id names it in our log."}


class ServiceUnavailable(ApiError):
    status_code, code = 503, "service_unavailable"
    example = {"message": "The service cannot reach its database. Try again shortly.", "retryAfter": 1}


class ClientGone(ApiError):
    """The client has disconnected. The reply is never read; its status is for the log and the metrics."""

    status_code, code = 499, "client_gone"


RETRY_LONG_AFTER = 30  # seconds


def as_api_error(exc: Exception) -> ApiError:
    """The API error for an exception; only unexpected ones are logged with a traceback."""
    match exc:
        case ApiError():
            return exc
        case Http404():
            return NotFound("There is no such resource.")
        case exceptions.ValidationError():
            return ValidationFailed.of(all_errors(exc.detail))
        case OperationalError() | InterfaceError() | DatabaseInternalError():  # the last: it could not do its work
            return of_database(exc)
        case UnreadablePostError():
            return InvalidRequest("The request ended before its body did.")
        case RequestDataTooBig():
            return RequestTooLarge("The body is larger than 1 MiB.")
        case SuspiciousOperation():
            return InvalidRequest(str(exc))
    logger.error("Unhandled exception", exc_info=exc)
    return InternalError("Something went wrong on our side. The request id names it in our log.")


def forget_frames(error: BaseException) -> None:
    """Lets go of the frames that an error came through, once it is handled.

    They hold what the request held, its body among it, and often the error itself: a cycle, which would keep all of
    it in memory until the next collection of garbage.
    """
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__context__


def of_database(exc: Exception) -> ApiError:
    """The API error for an unreachable database, or for a statement that was interrupted."""
    if not statements.was_ended(exc):
        logger.error("The database did not answer: %s", exc)
        return ServiceUnavailable("The service cannot reach its database. Try again shortly.", retry_after=1)
    if statements.is_for_nobody():
        return ClientGone("The client has gone.")
    bound = statements.bound.get()
    limit = f" than {bound.seconds} seconds" if bound is not None else ""
    return ServiceUnavailable(
        f"This takes longer{limit}, so it was given up. Narrow the filters or the window of time.",
        retry_after=RETRY_LONG_AFTER,
    )


def check_wanted() -> None:
    """Raise ClientGone if the client has disconnected."""
    if statements.is_for_nobody():
        raise ClientGone("The client has gone.")


def told(error: ApiError, accept: str) -> tuple[dict[str, object], str]:
    """The body for an error, and its media type: the envelope, or a problem if the client prefers it."""
    if prefers_problem(accept):
        return as_problem(error.status_code, error.as_dict()), PROBLEM
    return {"error": error.as_dict()}, JSON


class HandlerContext(TypedDict):
    """What DRF tells its exception handler."""

    request: Request


def exception_handler(exc: Exception, context: HandlerContext) -> Response:
    """DRF's hook: every exception of a view becomes a reply."""
    error = as_api_error(exc)
    body, media_type = told(error, context["request"].headers.get("Accept", ""))
    return Response(body, status=error.status_code, headers=error.headers, content_type=media_type)


def error_response(error: ApiError, request: HttpRequest) -> HttpResponse:
    """The reply for errors that arise outside a view."""
    body, media_type = told(error, request.headers.get("Accept", ""))
    return HttpResponse(render_json(body), status=error.status_code, headers=error.headers, content_type=media_type)
