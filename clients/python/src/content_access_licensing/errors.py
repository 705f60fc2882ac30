"""Errors of the service as exceptions, one class per `type`."""

from dataclasses import dataclass, field

from content_access_licensing.responses import ResponseInfo


@dataclass(frozen=True)
class FieldError:
    """One of several invalid fields of a body. `kind` is `missing`, `unknown` or `malformed`."""

    code: str
    message: str
    param: str | None = None
    kind: str | None = None


@dataclass
class ApiError(Exception):
    """An error of the service. Branch on `code`; `message` is for people; `request_id` helps to find it in the log."""

    status: int
    code: str
    message: str
    param: str | None = None
    retry_after: int | None = None  # seconds
    request_id: str | None = None
    errors: list[FieldError] = field(default_factory=list)
    response: ResponseInfo | None = field(default=None, repr=False, compare=False)
    kind: str | None = None  # with `param`: `missing`, `unknown` or `malformed`
    doc_url: str | None = None  # of the code's documentation; may be relative to the service's address

    def __str__(self) -> str:
        where = f" ({self.param})" if self.param else ""
        return f"{self.status} {self.code}{where}: {self.message} [request {self.request_id}]"


class ValidationError(ApiError):
    """The request is malformed, or a field of its body is invalid."""


class AuthenticationError(ApiError):
    """The key is missing, unknown, revoked or expired."""


class AuthorizationError(ApiError):
    """The key lacks a permission, or its allowlist excludes the address."""


class NotFoundError(ApiError):
    """The resource does not exist."""


class ConflictError(ApiError):
    """The resource exists already, is in use, or has changed since it was read."""


class RateLimitError(ApiError):
    """The plan's limit is used up."""


class ServiceError(ApiError):
    """The service, or a proxy in front of it, failed."""


BY_TYPE: dict[str, type[ApiError]] = {
    "validation_error": ValidationError,
    "invalid_request_error": ValidationError,
    "idempotency_error": ConflictError,
    "conflict_error": ConflictError,
    "authentication_error": AuthenticationError,
    "authorization_error": AuthorizationError,
    "not_found_error": NotFoundError,
    "rate_limit_error": RateLimitError,
    "api_error": ServiceError,
}
