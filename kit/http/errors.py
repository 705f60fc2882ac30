"""The errors of the API: one class for each code (docs/reference/errors.md). kit.http.error_replies answers them."""

from collections.abc import Iterable
from itertools import islice
from typing import ClassVar, NotRequired, Self, TypedDict, Unpack

from django.conf import settings
from rest_framework import exceptions

from kit.values.faults import MAX_FAULTS, Fault, FaultKind

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


class ApiError(exceptions.APIException):
    """An error with its HTTP status, a stable `code` and `type`, and a message that names the fault."""

    status_code: int = 500
    code: ClassVar[str] = "internal_error"
    type: ClassVar[str] = "api_error"
    # Shown in the OpenAPI document and the errors reference; classes without an example appear in neither.
    example: ClassVar[ErrorExample | None] = None

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: int | None = None,
        headers: dict[str, str] | None = None,
        kind: FaultKind | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.param, self.kind = message, param, kind
        self.retry_after = retry_after
        self.further: list[ApiError] = []  # further faults of the same body
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)

    def as_dict(self) -> dict[str, object]:
        """Return the value of `error` in the envelope."""
        body: dict[str, object] = {**self.as_field_error(), "type": self.type, "docUrl": doc_url(self.code)}
        if self.retry_after is not None:
            body["retryAfter"] = self.retry_after
        if self.further:
            body["errors"] = [one.as_field_error() for one in (self, *self.further)]
        return body

    def as_field_error(self) -> dict[str, str]:
        shown = {"code": self.code, "message": self.message}
        if self.param is not None:
            shown |= {"param": self.param}
            if self.kind is not None:
                shown |= {"kind": self.kind.value}
        return shown


class InvalidRequest(ApiError):
    """A malformed request: its body, a query parameter, a header or the cursor."""

    status_code, code, type = 400, "invalid_request", "validation_error"
    example = {"message": "The body is not JSON: Expecting value (line 1, column 10)."}

    def __init__(
        self, message: str, *, kind: FaultKind = FaultKind.MALFORMED, **options: Unpack[ErrorOptions]
    ) -> None:
        super().__init__(message, kind=kind, **options)


class ValidationFailed(InvalidRequest):
    """A well-formed body with a missing or invalid field."""

    status_code = 422
    example = {"message": "This field is required.", "param": "title", "kind": "missing"}

    @classmethod
    def from_faults(cls, faults: Iterable[Fault]) -> Self:
        """Build an error from faults: the first is the error, the rest become its `errors`."""
        error, *further = (
            cls(one.message, param=one.path or None, kind=one.kind) for one in islice(faults, MAX_FAULTS)
        )
        error.further = [*further]
        return error


class UnknownTransferCoding(InvalidRequest):
    """A body in a transfer coding that the server does not support (RFC 9112, 6.1)."""

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
    example = {"message": "PUT is not possible here. Use GET, POST."}


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
    code = "resource_revoked"  # permanently
    example = {"message": "This licence is revoked, which is final. Issue another one."}


class PreconditionFailed(AlreadyExists):
    """The resource's state differs from `If-Match`."""

    status_code, code = 412, "precondition_failed"
    example = {
        "message": "The resource has changed since it was read: If-Match has to be "
        '"5d41402abc4b2a76b9719d91" now. Read it again, then change it.'
    }


class IdempotencyConflict(AlreadyExists):
    code = "idempotency_conflict"
    example = {"message": "The first request with this Idempotency-Key is still running.", "retryAfter": 1}


class IdempotencyMismatch(ApiError):
    status_code, code, type = 422, "idempotency_mismatch", "idempotency_error"
    example = {"message": "This Idempotency-Key was used for another request."}


class RateLimitExceeded(ApiError):
    status_code, code, type = 429, "rate_limit_exceeded", "rate_limit_error"
    example = {"message": "The limit of 60 requests a minute is used up. Try again in 42 seconds.", "retryAfter": 42}


class InternalError(ApiError):
    example = {"message": "Something went wrong on our side. The request id names it in our log."}


class ServiceUnavailable(ApiError):
    status_code, code = 503, "service_unavailable"
    example = {"message": "The service cannot reach its database. Try again shortly.", "retryAfter": 1}


class ClientGone(ApiError):
    """The client disconnected. The reply is never read; its status is for logs and metrics."""

    status_code, code = 499, "client_gone"

    def __init__(self) -> None:
        super().__init__("The client left before it was answered.")
