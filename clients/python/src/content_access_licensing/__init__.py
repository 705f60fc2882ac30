"""A client of the Content Access Licensing API. `types` describes requests and replies."""

from content_access_licensing.client import AsyncClient, Client
from content_access_licensing.errors import (
    ApiError,
    AuthenticationError,
    AuthorizationError,
    ConflictError,
    FieldError,
    NotFoundError,
    RateLimitError,
    ServiceError,
    ValidationError,
)
from content_access_licensing.responses import RateLimit, ResponseInfo, get_response
from content_access_licensing.webhooks import InvalidSignature, verify

__all__ = [
    "ApiError",
    "AsyncClient",
    "AuthenticationError",
    "AuthorizationError",
    "Client",
    "ConflictError",
    "FieldError",
    "InvalidSignature",
    "NotFoundError",
    "RateLimit",
    "RateLimitError",
    "ResponseInfo",
    "ServiceError",
    "ValidationError",
    "get_response",
    "verify",
]
