"""What the service refuses, as exceptions: one class for each `type` of error."""

from dataclasses import dataclass, field

from content_access_licensing.responses import ResponseInfo


@dataclass(frozen=True)
class FieldError:
    """One of several faults of a body."""

    code: str
    message: str
    param: str | None = None


@dataclass
class ApiError(Exception):
    """A refusal. Branch on `code`; `message` is for people; `request_id` names the request in the service's log."""

    status: int
    code: str
    message: str
    param: str | None = None
    retry_after: int | None = None  # seconds
    request_id: str | None = None
    errors: list[FieldError] = field(default_factory=list)
    response: ResponseInfo | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        where = f" ({self.param})" if self.param else ""
        return f"{self.status} {self.code}{where}: {self.message} [request {self.request_id}]"


class ValidationError(ApiError):
    """The request is malformed, or a field of its body is wrong."""


class AuthenticationError(ApiError):
    """No key, or one that is unknown, revoked or expired."""


class AuthorizationError(ApiError):
    """The key lacks a permission, or the address is not in its allowlist."""


class NotFoundError(ApiError):
    """There is no such resource."""


class ConflictError(ApiError):
    """The resource exists already, is in use, or has changed since it was read."""


class RateLimitError(ApiError):
    """The plan's limit is used up."""


class ServiceError(ApiError):
    """The service, or what stands before it, failed."""


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
