import asyncio

import httpx
import pytest
from content_access_licensing import middleware
from content_access_licensing.middleware import AsgiMiddleware

from tests.clients.sites import HOST, Visit
from tests.served import Service


def test_a_server_may_leave_out_the_scheme():
    """It is optional in ASGI."""
    scope = {name: value for name, value in Visit("/about").scope.items() if name != "scheme"}
    guarded = AsgiMiddleware(None, "http://127.0.0.1", "svc_sk_x", fail_open=False)  # type: ignore[arg-type]
    assert asyncio.run(guarded.visit(scope)).url == f"http://{HOST}/about"


def test_the_choice_has_to_be_made(service: Service):
    with pytest.raises(TypeError):
        AsgiMiddleware(None, service.url, service.key)  # type: ignore[arg-type, call-arg]


def test_middleware_keeps_no_cookies():
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, headers={"X-Access-Decision": "allow", "Set-Cookie": "licensing_visitor=a; Path=/"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    app = middleware.WsgiMiddleware(
        lambda environ, start: [], "http://licensing.example", "svc_sk_x", fail_open=False, http=http
    )
    for _ in range(2):
        app(Visit("/").environ, None)
    assert ["cookie" in request.headers for request in seen] == [False, False]
