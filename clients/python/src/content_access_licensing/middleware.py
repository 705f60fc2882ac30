"""Middleware for ASGI, WSGI and Django that asks the service about each visit before the site answers.

Every visit is checked separately, counted and perhaps charged. It waits up to 2 seconds for the reply; then
`fail_open` decides about all visits of the next 10 seconds.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import httpx

from content_access_licensing import deadline
from content_access_licensing.pause import TIMEOUT
from content_access_licensing.paywall import (
    FORGEABLE,
    PATH,
    READ,
    Headers,
    PathChoice,
    Paywall,
    Verdict,
    Visit,
)

Scope = MutableMapping[str, Any]
Environ = dict[str, Any]


def ask(http: httpx.Client, paywall: Paywall, visit: Visit) -> Verdict:
    question = paywall.question(visit)
    if isinstance(question, Verdict):
        return question
    try:
        with paywall.timed():
            answer = deadline.get(http, PATH, encoded(question), TIMEOUT)
    except httpx.RequestError as error:
        return paywall.verdict(visit, error)
    return paywall.verdict(visit, answer)


async def ask_async(http: httpx.AsyncClient, paywall: Paywall, visit: Visit) -> Verdict:
    question = paywall.question(visit)
    if isinstance(question, Verdict):
        return question
    try:
        with paywall.timed():
            answer = await deadline.get_async(http, PATH, encoded(question), TIMEOUT)
    except httpx.RequestError as error:
        return paywall.verdict(visit, error)
    return paywall.verdict(visit, answer)


def keep_no_cookies(http: httpx.Client | httpx.AsyncClient) -> None:
    """Make the client keep no cookies: it would send the cookie of one visitor with the questions about all others."""
    http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))


def encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]


# --- ASGI ------------------------------------------------------------------------------------------------------------


class AsgiMiddleware:
    """Check the HTTP requests and websockets of an ASGI application.

    `requester` takes the scope and returns the requester's id, or an awaitable of it; None if the visitor is unknown.
    `host` is the site's host; the default is the `Host` header, which visitors control. `address` takes the scope and
    returns the visitor's IP address; the default is the connection's. `skip_assets` names the paths that are served
    without a check: True for style sheets, scripts, fonts and images in `/assets/` and `/static/`, or a function.
    """

    def __init__(
        self,
        app: Callable[[Scope, Any, Any], Awaitable[None]],
        url: str,
        key: str,
        *,
        fail_open: PathChoice,
        skip_assets: PathChoice = False,
        host: str | None = None,
        requester: Callable[[Scope], str | Awaitable[str | None] | None] = lambda scope: None,
        address: Callable[[Scope], str | None] = lambda scope: scope["client"][0] if scope.get("client") else None,
        http: httpx.AsyncClient | None = None,
    ) -> None:
        self.app, self.host, self.requester, self.address = app, host, requester, address
        self.paywall = Paywall(key, fail_open, skip_assets)
        self.http = http or httpx.AsyncClient(timeout=TIMEOUT)
        self.http.base_url = httpx.URL(url)
        keep_no_cookies(self.http)

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        verdict = await ask_async(self.http, self.paywall, await self.visit(scope))
        if verdict.status is None:
            await self.app(seen_by_site(scope, verdict), receive, replying(send, verdict))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = latin([*verdict.headers, ("content-length", str(len(verdict.body)))])
            await send({"type": "http.response.start", "status": verdict.status, "headers": headers})
            await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else verdict.body})

    async def visit(self, scope: Scope) -> Visit:
        requester = self.requester(scope)
        headers: dict[str, str] = {}
        for raw_name, raw_value in scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        return Visit(
            scope.get("method", "GET"),
            scope.get("scheme", "http").replace("ws", "http"),
            self.host or headers.get("host", ""),
            scope["path"],
            scope.get("query_string", b"").decode("latin-1"),
            self.address(scope),
            (await requester) if isinstance(requester, Awaitable) else requester,
            headers,
        )


def latin(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def combined(own: Headers, verdict: Verdict) -> Headers:
    """Return the headers of a page: the site's own, and those of the verdict that it does not have.

    Links and cookies are added beside the site's own. The verdict's Cache-Control replaces the site's.
    """
    replaced = {name for name, _ in verdict.headers} & {"cache-control"}
    kept = [(name, value) for name, value in own if name.lower() not in replaced]
    names = {name.lower() for name, _ in kept} - {"set-cookie", "link"}
    return [*kept, *((name, value) for name, value in verdict.headers if name not in names)]


def seen_by_site(scope: Scope, verdict: Verdict) -> Scope:
    kept = [(name, value) for name, value in scope["headers"] if not FORGEABLE.match(name.decode("latin-1"))]
    facts = [(name.encode(), value.encode("latin-1")) for name, value in verdict.facts]
    return {**scope, "headers": [*kept, *facts]}


def replying(send: Any, verdict: Verdict) -> Any:
    """Add the verdict's headers to a reply, as `combined` does."""

    async def reply(message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", [])]
            message = {**message, "headers": latin(combined(own, verdict))}
        await send(message)

    return reply


# --- WSGI ------------------------------------------------------------------------------------------------------------


class WsgiMiddleware:
    """Check the requests of a WSGI application; `requester` and `address` take the environ."""

    def __init__(
        self,
        app: Callable[[Environ, Any], Iterable[bytes]],
        url: str,
        key: str,
        *,
        fail_open: PathChoice,
        skip_assets: PathChoice = False,
        host: str | None = None,
        requester: Callable[[Environ], str | None] = lambda environ: None,
        address: Callable[[Environ], str | None] = lambda environ: environ.get("REMOTE_ADDR"),
        http: httpx.Client | None = None,
    ) -> None:
        self.app, self.host, self.requester, self.address = app, host, requester, address
        self.paywall = Paywall(key, fail_open, skip_assets)
        self.http = http or httpx.Client(timeout=TIMEOUT)
        self.http.base_url = httpx.URL(url)
        keep_no_cookies(self.http)

    def __call__(self, environ: Environ, start_response: Any) -> Iterable[bytes]:
        verdict = ask(self.http, self.paywall, self.visit(environ))
        if verdict.status is None:

            def start(status: str, headers: list[tuple[str, str]], *exc_info: Any) -> Any:
                return start_response(status, combined(headers, verdict), *exc_info)

            return self.app(seen_by_wsgi(environ, verdict), start)
        reason = HTTPStatus(verdict.status).phrase
        start_response(f"{verdict.status} {reason}", [*verdict.headers, ("content-length", str(len(verdict.body)))])
        return [b"" if environ["REQUEST_METHOD"] == "HEAD" else verdict.body]

    def visit(self, environ: Environ) -> Visit:
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        return Visit(
            environ["REQUEST_METHOD"],
            environ["wsgi.url_scheme"],
            self.host or environ.get("HTTP_HOST") or f"{environ['SERVER_NAME']}:{environ['SERVER_PORT']}",
            path.encode("latin-1"),
            environ.get("QUERY_STRING", ""),
            self.address(environ),
            self.requester(environ),
            headers_of(environ),
        )


def headers_of(environ: Environ) -> dict[str, str]:
    names = {name: f"HTTP_{name.upper().replace('-', '_')}" for name in READ}
    return {name: environ[key] for name, key in names.items() if key in environ}


def seen_by_wsgi(environ: Environ, verdict: Verdict) -> Environ:
    kept = {name: value for name, value in environ.items() if not is_forgeable(name)}
    return kept | {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in verdict.facts}


def is_forgeable(name: str) -> bool:
    return name.startswith("HTTP_") and FORGEABLE.match(name.removeprefix("HTTP_")) is not None


# --- Django ----------------------------------------------------------------------------------------------------------


class DjangoMiddleware:
    """Django middleware: subclass it, set `url`, `key` and `fail_open`, and override `requester`.

    `host` is the site's host; the default is the request's, which must be in ALLOWED_HOSTS. Works in threads and,
    under ASGI, on the event loop.
    """

    sync_capable = async_capable = True
    url: str
    key: str
    fail_open: PathChoice
    skip_assets: PathChoice = False
    host: str | None = None

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        from asgiref.sync import iscoroutinefunction, markcoroutinefunction  # noqa: PLC0415 - it comes with Django

        self.get_response = get_response
        site = type(self)  # on the class, a function is not bound as a method
        self.paywall = Paywall(self.key, site.fail_open, site.skip_assets)
        self.http, self.http_async = self.clients()
        keep_no_cookies(self.http)
        keep_no_cookies(self.http_async)
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def clients(self) -> tuple[httpx.Client, httpx.AsyncClient]:
        return (
            httpx.Client(base_url=self.url, timeout=TIMEOUT),
            httpx.AsyncClient(base_url=self.url, timeout=TIMEOUT),
        )

    def requester(self, request: Any) -> str | None:
        """Return the requester's id, or None if the visitor is unknown."""
        return None

    def address(self, request: Any) -> str | None:
        """Return the visitor's IP address; by default the connection's."""
        address: str | None = request.META.get("REMOTE_ADDR")
        return address

    def __call__(self, request: Any) -> Any:
        if self.is_async:
            return self.answer_async(request)
        verdict = ask(self.http, self.paywall, self.visit(request))
        return self.refused(verdict) or self.served(self.get_response(admitted(request, verdict)), verdict)

    async def answer_async(self, request: Any) -> Any:
        from asgiref.sync import sync_to_async  # noqa: PLC0415

        visit = await sync_to_async(self.visit)(request)  # `requester` may read the database
        verdict = await ask_async(self.http_async, self.paywall, visit)
        return self.refused(verdict) or self.served(await self.get_response(admitted(request, verdict)), verdict)

    def visit(self, request: Any) -> Visit:
        return Visit(
            request.META.get("REQUEST_METHOD") or request.method,  # Django writes `head` as HEAD, which is free
            request.scheme,
            self.host or request.get_host(),
            request.path,
            request.META.get("QUERY_STRING", ""),
            self.address(request),
            self.requester(request),
            headers_of(request.META),
        )

    def refused(self, verdict: Verdict) -> Any:
        from django.http import HttpResponse  # noqa: PLC0415 - only who uses it has Django

        if verdict.status is None:
            return None
        return HttpResponse(verdict.body, status=verdict.status, headers=dict(verdict.headers))

    def served(self, response: Any, verdict: Verdict) -> Any:
        for name, value in verdict.headers:
            if name == "cache-control":
                response.headers[name] = value
            elif name == "link" and name in response.headers:
                response.headers[name] += f", {value}"
            else:
                response.headers.setdefault(name, value)
        return response


def admitted(request: Any, verdict: Verdict) -> Any:
    for name in [name for name in request.META if is_forgeable(name)]:
        del request.META[name]
    for name, value in verdict.facts:
        request.META[f"HTTP_{name.upper().replace('-', '_')}"] = value
    request.__dict__.pop("headers", None)  # Django caches them after the first access
    return request
