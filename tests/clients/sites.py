"""A publisher's site behind the middleware of each client, as visitors reach it.

The site replies to every page with the decision headers that it received. Everybody may cache its pages, as it says.
"""

import asyncio
import io
import json
import logging
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

import httpx
from content_access_licensing import middleware
from content_access_licensing.middleware import AsgiMiddleware, DjangoMiddleware, WsgiMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from fastapi import FastAPI
from fastapi import Request as FastApiRequest
from fastapi import Response as FastApiResponse
from flask import Flask
from flask import Response as FlaskResponse
from flask import request as flask_request
from werkzeug.test import run_wsgi_app

from tests.clients.generate import ROOT
from tests.openapi.node import FOLDER, run

HOST, ADDRESS = "pub.example", "203.0.113.9"
CACHE = "public, max-age=60"
PATHS = ("/about", "/premium/a")  # selected by tests through a function


@dataclass(frozen=True)
class Visit:
    """A visitor's request. `who` is the user of the site's session."""

    target: str
    who: str | None = None
    address: str = ADDRESS
    method: str = "GET"
    scheme: str = "https"
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]

    @property
    def all_headers(self) -> dict[str, str]:
        given = {name.lower(): value for name, value in self.headers.items()}
        return {"host": HOST, **given} | ({"x-session": self.who} if self.who else {})

    @property
    def scope(self) -> dict[str, Any]:
        return {
            "type": "http", "method": self.method, "scheme": self.scheme, "path": unquote(self.path),
            "query_string": self.query.encode("latin-1"), "client": (self.address, 1), "server": (HOST, 443),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in self.all_headers.items()],
        }  # fmt: skip

    @property
    def environ(self) -> dict[str, Any]:
        names = {name: f"HTTP_{name.upper().replace('-', '_')}" for name in self.all_headers}
        return {
            "REQUEST_METHOD": self.method, "wsgi.url_scheme": self.scheme, "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(self.path).decode("latin-1"), "QUERY_STRING": self.query,
            "REMOTE_ADDR": self.address, "SERVER_NAME": HOST, "SERVER_PORT": "443", "wsgi.input": io.BytesIO(),
            **{key: self.all_headers[name] for name, key in names.items()},
        }  # fmt: skip


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_page(self) -> bool:
        return self.status == 200 and self.body.startswith(b"Page ")

    @property
    def seen(self) -> dict[str, str]:
        """Return the headers of the request that reached the site."""
        found: dict[str, str] = json.loads(self.body.removeprefix(b"Page "))
        return found


def page(seen: dict[str, str]) -> bytes:
    return b"Page " + json.dumps({name: value for name, value in seen.items() if name != "host"}).encode()


def joined(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers by name in lower case. Several of one name are joined."""
    values: dict[str, list[str]] = {}
    for name, value in headers:
        values.setdefault(name.lower(), []).append(value)
    return {name: ", ".join(several) for name, several in values.items()}


Answer = Callable[[Visit], Reply]
Options = dict[str, Any]  # url, key, fail_open, skip_assets and host


async def replied(app: Any, visit: Visit) -> Reply:
    """Return the reply of an ASGI application."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(visit.scope, receive, send)
    headers = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
    return Reply(sent[0]["status"], joined(headers), b"".join(one.get("body", b"") for one in sent[1:]))


def asgi(options: Options) -> Answer:
    async def site(scope: Any, receive: Any, send: Any) -> None:
        seen = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        await send({"type": "http.response.start", "status": 200, "headers": [(b"cache-control", CACHE.encode())]})
        await send({"type": "http.response.body", "body": page(seen)})

    async def requester(scope: Any) -> str | None:
        return {name: value.decode("latin-1") for name, value in scope["headers"]}.get(b"x-session")

    async def exchange(visit: Visit) -> Reply:
        async with httpx.AsyncClient(trust_env=False) as http:
            return await replied(AsgiMiddleware(site, requester=requester, http=http, **options), visit)

    return lambda visit: asyncio.run(exchange(visit))


def wsgi(options: Options) -> Answer:
    def site(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        seen = {name[5:].lower().replace("_", "-"): environ[name] for name in environ if name.startswith("HTTP_")}
        start_response("200 OK", [("Cache-Control", CACHE)])
        return [page(seen)]

    return run_in_wsgi(guarded(site, options))


def guarded(site: Any, options: Options) -> WsgiMiddleware:
    http = httpx.Client(trust_env=False)
    return WsgiMiddleware(site, requester=lambda environ: environ.get("HTTP_X_SESSION"), http=http, **options)


def run_in_wsgi(app: Any) -> Answer:
    def answer(visit: Visit) -> Reply:
        body, status, headers = run_wsgi_app(app, visit.environ)
        return Reply(int(status[:3]), joined(headers), b"".join(body))

    return answer


def flask(options: Options) -> Answer:
    site = Flask("site", static_folder=None)

    @site.route("/<path:path>")
    def show(path: str) -> FlaskResponse:
        shown = page({name.lower(): value for name, value in flask_request.headers})
        return FlaskResponse(shown, headers={"Cache-Control": CACHE})

    site.wsgi_app = guarded(site.wsgi_app, options)  # type: ignore[method-assign]
    return run_in_wsgi(site)


def fastapi(options: Options) -> Answer:
    async def requester(scope: Any) -> str | None:
        return FastApiRequest(scope).headers.get("x-session")

    async def exchange(visit: Visit) -> Reply:
        site = FastAPI()

        @site.api_route("/{path:path}", methods=["GET", "HEAD"])
        def show(request: FastApiRequest) -> FastApiResponse:
            return FastApiResponse(page(dict(request.headers)), headers={"Cache-Control": CACHE})

        async with httpx.AsyncClient(trust_env=False) as http:
            site.add_middleware(AsgiMiddleware, requester=requester, http=http, **options)
            return await replied(site, visit)

    return lambda visit: asyncio.run(exchange(visit))


def licensed(options: Options) -> type[DjangoMiddleware]:
    class Licensed(DjangoMiddleware):
        url, key, fail_open = options["url"], options["key"], options["fail_open"]
        host, skip_assets = options.get("host"), options.get("skip_assets", False)

        def requester(self, request: Any) -> str | None:
            return request.headers.get("X-Session")

    return Licensed


def view(request: Any) -> HttpResponse:
    shown = page({name.lower(): value for name, value in request.headers.items()})
    return HttpResponse(shown, headers={"Cache-Control": CACHE})


async def view_async(request: Any) -> HttpResponse:
    return view(request)


def reply_of(response: HttpResponse) -> Reply:
    return Reply(response.status_code, joined(response.items()), response.content)


def django(options: Options) -> Answer:
    site = licensed(options)(view)
    return lambda visit: reply_of(site(WSGIRequest(visit.environ)))


def django_async(options: Options) -> Answer:
    async def exchange(visit: Visit) -> Reply:
        site = licensed(options)(view_async)
        return reply_of(await site(ASGIRequest(visit.scope, io.BytesIO())))

    return lambda visit: asyncio.run(exchange(visit))


@cache
def compiled() -> Path:
    """Compile clients/typescript for Node."""
    folder = Path(tempfile.mkdtemp(prefix="gate"))
    run("tsc", "-p", ROOT / "clients" / "typescript", "--outDir", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def typescript(options: Options) -> Answer:
    """Run each visit in its own Node process."""

    def answer(visit: Visit) -> Reply:
        headers = [[name, value] for name, value in visit.all_headers.items() if name != "host"]
        page = f"{visit.scheme}://{visit.all_headers['host']}{visit.target}"
        return visited("gate.mjs", [], {**case_of(options, visit), "page": page, "headers": headers})

    return answer


def express(options: Options) -> Answer:
    """Run each visit in its own Node process with Express, which gets the unchanged target."""

    def answer(visit: Visit) -> Reply:
        case = {"target": visit.target, "scheme": visit.scheme, "headers": list(visit.all_headers.items())}
        return visited("express.mjs", [FOLDER / "package.json"], {**case_of(options, visit), **case})

    return answer


def case_of(options: Options, visit: Visit) -> dict[str, Any]:
    chosen = options["fail_open"]
    return {
        **{name: options.get(name) for name in ("url", "key")},
        **({"host": options["host"]} if "host" in options else {}),
        "failOpen": chosen if isinstance(chosen, bool) else [path for path in PATHS if chosen(path)],
        "skipAssets": options.get("skip_assets", False), "timeout": 1_000 * middleware.TIMEOUT,
        "method": visit.method, "address": visit.address, "who": visit.who,
    }  # fmt: skip


def visited(script: str, arguments: list[Path], case: dict[str, Any]) -> Reply:
    done = subprocess.run(
        ["node", Path(__file__).with_name(script), compiled(), *arguments],
        input=json.dumps(case),
        env={**os.environ, "no_proxy": "*"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    if done.stderr:
        logging.getLogger("content_access_licensing").error(done.stderr)
    told = json.loads(done.stdout)
    return Reply(told["status"], told["headers"], told["body"].encode())


WAYS: dict[str, Callable[[Options], Answer]] = {
    "ASGI": asgi, "WSGI": wsgi, "Flask": flask, "FastAPI": fastapi, "Django": django,
    "Django under ASGI": django_async, "TypeScript": typescript, "Express": express,
}  # fmt: skip
