"""Synchronous and asynchronous API clients, with retries and pagination."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from typing import Any, Self

import httpx

from content_access_licensing.operations import AsyncOperations, Operations
from content_access_licensing.protocol import (
    Call,
    Query,
    checked_key,
    error_of,
    info_of,
    page_of,
    request,
    result_of,
    wait_after,
)
from content_access_licensing.responses import AsyncStream, ResponseInfo, Result, Stream


class Client(Operations):
    """A client of the API. Threads can share it, and it can be used after a fork.

    `http` replaces the httpx client, for custom settings; create such a client after forks. `retries` follow the first
    attempt.
    """

    def __init__(
        self, api_key: str, base_url: str, *, retries: int = 3, timeout: float = 30, http: httpx.Client | None = None
    ) -> None:
        self.http = http or httpx.Client(timeout=timeout)
        self.http.base_url = httpx.URL(base_url)
        self.http.headers["Authorization"] = f"Bearer {checked_key(api_key)}"
        self.retries = retries
        self.process = os.getpid() if http is None else None

    def forget_connections(self) -> None:
        """Leave the connections to the parent process: shared ones would bring one process the other's replies."""
        old = self.http
        self.http = httpx.Client(base_url=old.base_url, headers=old.headers, timeout=old.timeout)
        self.process = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def send(self, call: Call) -> Result:
        """Send a request and return the body of the reply.

        Every operation uses it. Raises ApiError or httpx.HTTPError.
        """
        return result_of(self._reply(call), call.answer)

    def _reply(self, call: Call, *, stream: bool = False) -> httpx.Response:
        """Return a successful reply, of which nothing has been read if `stream`."""
        if self.process not in (None, os.getpid()):
            self.forget_connections()
        for attempt in range(self.retries + 1):
            failed: httpx.Response | httpx.TransportError
            try:
                failed = reply = self.http.send(request(self.http, call), stream=stream)
                if reply.is_success:
                    return reply
                reply.read()
            except httpx.TransportError as error:
                failed = error
            wait = wait_after(call, attempt, failed) if attempt < self.retries else None
            if wait is None:
                break
            time.sleep(wait)
        raise failed if isinstance(failed, httpx.TransportError) else error_of(failed)

    def pages(self, call: Call) -> Stream[Any]:
        """Iterate over all matches, page by page."""
        return Stream(self._pages(call))

    def _pages(self, call: Call) -> Generator[tuple[ResponseInfo, list[Result]], None, None]:
        while True:
            page = self.send(call)
            yield page_of(page)
            if "nextCursor" not in page:
                return
            call.query = {**(call.query or {}), "cursor": page["nextCursor"]}

    def export(self, path: str, query: Query | None = None, *, form: str = "csv") -> Stream[bytes]:
        """Stream a list or report as a file (`csv` or `jsonl`): `client.export("/v1/revenue")`."""
        return Stream(self._export(path, query, form))

    def _export(
        self, path: str, query: Query | None, form: str
    ) -> Generator[tuple[ResponseInfo, Iterator[bytes]], None, None]:
        reply = self._reply(Call("GET", path, {**(query or {}), "format": form}), stream=True)
        try:
            yield info_of(reply), reply.iter_bytes()
        finally:
            reply.close()


class AsyncClient(AsyncOperations):
    """The asynchronous client, with `await` and `async for`."""

    def __init__(
        self,
        api_key: str,
        base_url: str,
        *,
        retries: int = 3,
        timeout: float = 30,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.http = http or httpx.AsyncClient(timeout=timeout)
        self.http.base_url = httpx.URL(base_url)
        self.http.headers["Authorization"] = f"Bearer {checked_key(api_key)}"
        self.retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def send(self, call: Call) -> Result:
        return result_of(await self._reply(call), call.answer)

    async def _reply(self, call: Call, *, stream: bool = False) -> httpx.Response:
        """Return a successful reply, of which nothing has been read if `stream`."""
        for attempt in range(self.retries + 1):
            failed: httpx.Response | httpx.TransportError
            try:
                failed = reply = await self.http.send(request(self.http, call), stream=stream)
                if reply.is_success:
                    return reply
                await reply.aread()
            except httpx.TransportError as error:
                failed = error
            wait = wait_after(call, attempt, failed) if attempt < self.retries else None
            if wait is None:
                break
            await asyncio.sleep(wait)
        raise failed if isinstance(failed, httpx.TransportError) else error_of(failed)

    def pages(self, call: Call) -> AsyncStream[Any]:
        return AsyncStream(self._pages(call))

    async def _pages(self, call: Call) -> AsyncGenerator[tuple[ResponseInfo, list[Result]], None]:
        while True:
            page = await self.send(call)
            yield page_of(page)
            if "nextCursor" not in page:
                return
            call.query = {**(call.query or {}), "cursor": page["nextCursor"]}

    def export(self, path: str, query: Query | None = None, *, form: str = "csv") -> AsyncStream[bytes]:
        return AsyncStream(self._export(path, query, form))

    async def _export(
        self, path: str, query: Query | None, form: str
    ) -> AsyncGenerator[tuple[ResponseInfo, list[bytes]], None]:
        reply = await self._reply(Call("GET", path, {**(query or {}), "format": form}), stream=True)
        try:
            yield info_of(reply), []
            async for chunk in reply.aiter_bytes():
                yield info_of(reply), [chunk]
        finally:
            await reply.aclose()
