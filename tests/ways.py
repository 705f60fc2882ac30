"""Clients of checks: by Django's test client, or on an event loop as in a server (GatewayClient)."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils.datastructures import CaseInsensitiveMapping

from licensing.access.event_loop.application import CheckApplication
from licensing.access.event_loop.calls import Calls, InThread
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.metrics import BATCH, CHECK
from tests.client import ApiClient, Reply

Connect = Callable[[str | None], ApiClient]


class Response:
    """The parts of a response that Reply reads."""

    def __init__(self, start: dict[str, Any], body: bytes) -> None:
        self.status_code = start["status"]
        self.headers = CaseInsensitiveMapping({name.decode(): value.decode() for name, value in start["headers"]})
        self.content = body

    def getvalue(self) -> bytes:
        return self.content


class GatewayClient(ApiClient):
    """A client that sends checks to the ASGI application, and everything else to Django.

    A list of values sends a header repeatedly.
    """

    scheme = "http"

    def __init__(self, key: str | None, application: CheckApplication) -> None:
        super().__init__(key)
        self.application = application

    def request(self, method: str, path: str, json: Any = None, *, headers: Any = None, **query: Any) -> Reply:
        given = {"Host": "localhost", "Content-Type": "application/json", **self.headers, **(headers or {})}
        address = urlsplit(path)
        scope = {
            "type": "http",
            "scheme": self.scheme,
            "method": method,
            "path": address.path,
            "query_string": address.query.encode(),
            "headers": [
                (name.lower().encode(), value.encode())
                for name, values in given.items()
                for value in ([values] if isinstance(values, str) else values)
            ],
            "client": ("127.0.0.1", 12345),
            "server": ("localhost", 80),
        }
        if query or method != "POST" or address.path not in (CHECK, BATCH):
            return super().request(method, path, json, headers=headers, **query)
        body = json if isinstance(json, bytes) else b"" if json is None else orjson.dumps(json)
        return Reply(async_to_sync(self.exchange)(scope, body))

    async def exchange(self, scope: dict[str, Any], body: bytes) -> Response:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.application(scope, receive, send)
        return Response(sent[0], sent[1]["body"])


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> CheckApplication:
    """The check application, with blocking calls on the test's thread, because others do not see its transaction."""

    async def on_thread_of_test(self: InThread, items: Any) -> Any:
        return await sync_to_async(self.call)(items)

    monkeypatch.setattr(InThread, "__call__", on_thread_of_test)
    return make_application()


def make_application() -> CheckApplication:
    """Create a check application as another process has it, within the fixture `application`."""
    # Connections of the loop's own do not see the test's transaction; tests/faults covers those.
    made = CheckApplication(Gateway(Calls(on_loop=False)))
    made.gateway.callers.limits = None
    return made


@pytest.fixture
def connect() -> Connect:
    """Create a client with a key."""
    return ApiClient
