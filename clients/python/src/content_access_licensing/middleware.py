"""Middleware that asks for each page whether its visitor may have it: for Django, and for any ASGI application.

Answers are kept for as long as the service allows (`cacheFor`). Where it cannot be asked, the answer is a 503: a
failure never allows access. A page that the service does not know passes, unless `unknown="deny"`.
"""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Literal

import httpx

from content_access_licensing.client import AsyncClient, Client
from content_access_licensing.errors import ApiError, NotFoundError
from content_access_licensing.types import Check, Decision

STATUSES = {"no_license": 402, "license_expired": 402, "rate_limit_exceeded": 429}
MOST_ANSWERS = 10_000
Refusal = tuple[int, str]  # a status, and what to tell


class Answers:
    """Decisions that may still be used, by what was asked."""

    def __init__(self, unknown: Literal["allow", "deny"] = "allow") -> None:
        self.kept: dict[tuple[str, str], tuple[float, Refusal | None]] = {}
        self.unknown: Refusal | None = None if unknown == "allow" else (403, "This page is not licensed.")

    def known(self, asked: tuple[str, str]) -> tuple[float, Refusal | None] | None:
        found = self.kept.get(asked)
        return found if found and found[0] > time.monotonic() else None

    def keep(self, asked: tuple[str, str], decision: Decision) -> Refusal | None:
        reason = decision["reason"] or ""
        refusal = None if decision["allowed"] else (STATUSES.get(reason, 403), decision["message"] or reason)
        if decision["cacheFor"]:
            if len(self.kept) >= MOST_ANSWERS:
                self.kept.clear()
            self.kept[asked] = time.monotonic() + decision["cacheFor"], refusal
        return refusal

    def without_decision(self, error: ApiError | httpx.HTTPError) -> Refusal | None:
        if isinstance(error, NotFoundError):
            return self.unknown
        return 503, "The licence cannot be checked at the moment."


def check(url: str, requester: str, ip: str | None, agent: str | None) -> Check:
    return {"source": url, "requester": requester, "context": {"ip": ip, "userAgent": (agent or "")[:1000] or None}}


class DjangoMiddleware:
    """In MIDDLEWARE: a subclass that sets `client`, and says in `requester` who asks (None: nobody is asked about)."""

    client: Client
    unknown: Literal["allow", "deny"] = "allow"

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self.get_response, self.answers = get_response, Answers(self.unknown)

    def requester(self, request: Any) -> str | None:
        raise NotImplementedError

    def __call__(self, request: Any) -> Any:
        requester = self.requester(request)
        refusal = None if requester is None else self.refusal(request, requester)
        if refusal is None:
            return self.get_response(request)
        from django.http import HttpResponse  # noqa: PLC0415 - only who uses it has Django

        return HttpResponse(refusal[1], status=refusal[0], content_type="text/plain; charset=utf-8")

    def refusal(self, request: Any, requester: str) -> Refusal | None:
        url = request.build_absolute_uri()
        if known := self.answers.known((requester, url)):
            return known[1]
        asked = check(url, requester, request.META.get("REMOTE_ADDR"), request.headers.get("User-Agent"))
        try:
            return self.answers.keep((requester, url), self.client.check_access(asked))
        except (ApiError, httpx.HTTPError) as error:
            return self.answers.without_decision(error)


Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]


class AsgiMiddleware:
    """`AsgiMiddleware(app, client, requester)`; `requester` takes the scope (None: nobody is asked about)."""

    def __init__(
        self,
        app: App,
        client: AsyncClient,
        requester: Callable[[Scope], str | None],
        unknown: Literal["allow", "deny"] = "allow",
    ) -> None:
        self.app, self.client, self.requester, self.answers = app, client, requester, Answers(unknown)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        requester = self.requester(scope) if scope["type"] == "http" else None
        refusal = None if requester is None else await self.refusal(scope, requester)
        if refusal is None:
            await self.app(scope, receive, send)
            return
        status, text = refusal
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    async def refusal(self, scope: Scope, requester: str) -> Refusal | None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1").partition("?")[0]
        query = scope.get("query_string", b"").decode("latin-1")
        url = f"{scope['scheme']}://{headers.get('host', '')}{path}{f'?{query}' if query else ''}"
        if known := self.answers.known((requester, url)):
            return known[1]
        peer = scope.get("client")
        asked = check(url, requester, peer[0] if peer else None, headers.get("user-agent"))
        try:
            return self.answers.keep((requester, url), await self.client.check_access(asked))
        except (ApiError, httpx.HTTPError) as error:
            return self.answers.without_decision(error)
