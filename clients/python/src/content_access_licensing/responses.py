"""Metadata of replies: request id, rate limit, ETag and deprecation."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

import httpx

T = TypeVar("T")


@dataclass(frozen=True)
class RateLimit:
    """The rate limit window that has the fewest requests left."""

    limit: int
    remaining: int
    reset: datetime  # when the next window starts, in UTC


@dataclass(frozen=True)
class ResponseInfo:
    """Status and headers of a reply. `get_response` returns it for every result."""

    status: int
    headers: httpx.Headers = field(repr=False)

    @property
    def request_id(self) -> str | None:
        """Return the request's id in the service's log."""
        found: str | None = self.headers.get("X-Request-Id")
        return found

    @property
    def etag(self) -> str:
        """Return the resource's ETag, for `if_match`. Raises LookupError if the reply has none."""
        if "ETag" not in self.headers:
            raise LookupError("This reply has no ETag. Read the resource by its id: lists and deletions have none.")
        return str(self.headers["ETag"])

    @property
    def rate_limit(self) -> RateLimit | None:
        names = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
        try:
            limit, remaining, reset = (int(self.headers[name]) for name in names)
            return RateLimit(limit, remaining, datetime.fromtimestamp(reset, UTC))
        except (KeyError, ValueError, OverflowError, OSError):
            return None

    @property
    def deprecated_since(self) -> datetime | None:
        """Return when the operation, or a parameter or field sent, became deprecated; None if it is not."""
        try:
            return datetime.fromtimestamp(int(self.headers.get("Deprecation", "").removeprefix("@")), UTC)
        except (ValueError, OverflowError, OSError):
            return None

    @property
    def sunset(self) -> datetime | None:
        """Return when the deprecated part stops working; None without a date."""
        try:
            return parsedate_to_datetime(self.headers.get("Sunset", ""))
        except ValueError:
            return None


class Result(dict[str, Any]):
    """A resource or report as a dict, with the reply that it came in. A copy made by `dict(...)` has no `response`."""

    def __init__(self, body: Mapping[str, Any], response: ResponseInfo) -> None:
        super().__init__(body)
        self.response = response


class Stream(Iterator[T]):
    """The members of a list over all its pages, or the bytes of an export.

    `response` is the reply read last: None until the first one arrives.
    """

    def __init__(self, replies: Generator[tuple[ResponseInfo, Iterable[T]], None, None]) -> None:
        self.response: ResponseInfo | None = None
        self._replies = replies
        self._members = self._read()

    def _read(self) -> Generator[T, None, None]:
        for response, members in self._replies:
            self.response = response
            yield from members

    def __next__(self) -> T:
        return next(self._members)

    def close(self) -> None:
        """Stop early, and close the connection of an export."""
        self._members.close()
        self._replies.close()


class AsyncStream(AsyncIterator[T]):
    """The asynchronous version of Stream."""

    def __init__(self, replies: AsyncGenerator[tuple[ResponseInfo, Iterable[T]], None]) -> None:
        self.response: ResponseInfo | None = None
        self._replies = replies
        self._members = self._read()

    async def _read(self) -> AsyncGenerator[T, None]:
        async for response, members in self._replies:
            self.response = response
            for one in members:
                yield one

    async def __anext__(self) -> T:
        return await anext(self._members)

    async def aclose(self) -> None:
        """Stop early."""
        await self._members.aclose()
        await self._replies.aclose()


class HasResponse(Protocol):
    @property
    def response(self) -> ResponseInfo | None: ...


def get_response(result: Mapping[str, object] | HasResponse) -> ResponseInfo:
    """Return the reply that a result, a member of a list, a list, an export or an ApiError came in.

    A member of a list has the reply of its page. Raises LookupError for a copy of a result, and for a list or export
    of which nothing has been read yet.
    """
    found: ResponseInfo | None = getattr(result, "response", None)
    if found is None:
        raise LookupError(
            "No reply is known: pass what the client returned or raised, after its first reply, not a copy."
        )
    return found
