"""The order in which a request is admitted, written once (docs/reference/api.md, Requests and errors).

Django's views and access checks on the event loop go through the same `admit`: the views by `run_blocking`, in their
thread, the checks by `await`.
"""

from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from kit.http.errors import IpNotAllowed, MissingApiKey

R = TypeVar("R")


class Steps:
    """The steps of one request as one way of serving takes them. A step refuses by raising an ApiError.

    What a way does not override lets everything pass.
    """

    def check_method(self) -> None:
        """Raises MethodNotAllowed."""

    async def authenticate(self) -> None:
        """Reads and checks the key. Raises MissingApiKey or InvalidApiKey."""

    def check_address(self) -> None:
        """Raises IpNotAllowed."""

    async def count(self) -> None:
        """Counts the request against the limits of its key. Raises RateLimitExceeded."""

    async def count_stranger(self, refusal: MissingApiKey | IpNotAllowed) -> None:
        """Counts a request without a valid key against its client's address. Raises RateLimitExceeded."""

    def authorize(self) -> None:
        """Raises InsufficientPermissions."""

    def check_query(self) -> None:
        """Raises InvalidRequest."""

    async def read_body(self) -> None:
        """Reads the body, if there is to be one; parsing it is up to the handler. Raises an ApiError."""


async def admit(request: Steps) -> None:
    """Takes the steps in their order, up to the first that refuses."""
    request.check_method()
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
    """What the event loop has done for a request to Django, if any: read its `grant`, counted it (`limit_state`)."""
    told: Mapping[str, Any] = request.META.get("asgi.scope", {}).get("extensions", {})
    return told


def run_blocking(coroutine: Coroutine[object, object, R]) -> R:
    """The result of a coroutine whose steps block rather than wait, as those of a thread may."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: R = done.value
        return result
    coroutine.close()
    raise AssertionError("a blocking step waited for the event loop")
