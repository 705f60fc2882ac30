"""The order of admission checks for a request (docs/reference/api.md, Requests and errors).

Access checks run `admit` on the event loop, and again in a transaction. Views of Django have the same order in
`ApiViewSet.initial`. tests/gateway/test_order.py proves it for both.
"""

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from kit.http.errors import IpNotAllowed, MissingApiKey

R = TypeVar("R")


class Steps:
    """The admission steps of one request path. A step rejects the request by raising an ApiError.

    Steps that a subclass does not override accept everything.
    """

    async def authenticate(self) -> None:
        """Read and verify the API key. Raises MissingApiKey or InvalidApiKey."""

    def check_address(self) -> None:
        """Raise IpNotAllowed if the key's allowlist excludes the client's address."""

    async def count(self) -> None:
        """Count the request against the key's rate limits. Raises RateLimitExceeded."""

    async def count_stranger(self, refusal: MissingApiKey | IpNotAllowed) -> None:
        """Count a request without a valid key against its client's address. Raises RateLimitExceeded."""

    def authorize(self) -> None:
        """Raise InsufficientPermissions if the key lacks a required permission."""

    def check_query(self) -> None:
        """Raise InvalidRequest for unknown, repeated or unreadable query parameters."""

    async def read_body(self) -> None:
        """Read the body if the method has one, without parsing it. Raises an ApiError."""


async def admit(request: Steps) -> None:
    """Run the steps in order until one rejects the request."""
    try:
        await request.authenticate()
        request.check_address()
    except (MissingApiKey, IpNotAllowed) as refusal:
        await request.count_stranger(refusal)
        raise
    await request.count()
    request.authorize()
    request.check_query()
    await request.read_body()


def done_before(request: Any) -> Mapping[str, Any]:
    """Return what the event loop did before it passed the request to Django: `grant`, `limit_state`; may be empty."""
    told: Mapping[str, Any] = request.META.get("asgi.scope", {}).get("extensions", {})
    return told


def run_blocking(coroutine: Coroutine[object, object, R]) -> R:
    """Run a coroutine that never suspends, and return its result. For steps that block in a thread."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: R = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking step waited for the event loop")
