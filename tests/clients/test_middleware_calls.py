"""How servers and sites call the middleware."""

import asyncio

import pytest
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
