"""Checks in a thread of Django: the ASGI application on the request's own thread, connection and transaction.

`manage.py serve` answers checks and proxies' questions on its event loop, before Django (config.asgi). This is for
`manage.py runserver`, and for Django's test client. Nothing stays cached, so that what the request's own transaction
has changed holds. Background work ends with the reply: keys of signers are never fetched.
"""

from collections.abc import Awaitable, Callable

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from kit.http.bodies import Message, Receive, Scope, Send
from kit.http.headers import request_id
from kit.http.parsing import MAX_BYTES
from licensing.access.event_loop.application import CheckApplication
from licensing.access.event_loop.calls import Calls, on_calling_thread
from licensing.access.event_loop.gateway import Gateway


class Exchange:
    """A request of Django as ASGI sees it, and its reply. `headers` replace those of the request."""

    def __init__(self, request: HttpRequest, **headers: str) -> None:
        self.request, self.headers = request, headers

    def respond(self, status: int, lines: bytes, body: bytes) -> bool:
        headers = (line.split(": ", 1) for line in lines.decode("latin-1").splitlines())
        self.response = HttpResponse(body, status=status, headers=dict(headers))
        return True

    async def receive(self) -> Message:
        raise AssertionError("the body is there")

    async def send(self, message: Message) -> None:
        raise AssertionError("`respond` takes the reply")

    @property
    def scope(self) -> Scope:
        request, meta = self.request, self.request.META
        is_long = int(meta.get("CONTENT_LENGTH") or 0) > MAX_BYTES
        headers = {**request.headers, **self.headers}
        return {
            "type": "http",
            "method": request.method,
            "scheme": request.scheme,
            "path": request.path,
            "query_string": meta.get("QUERY_STRING", "").encode("latin-1", "replace"),
            "headers": [(name.lower().encode(), text.encode("latin-1", "replace")) for name, text in headers.items()],
            "client": (meta.get("REMOTE_ADDR", ""), 0),
            "server": (meta.get("SERVER_NAME", ""), meta.get("SERVER_PORT", "")),
            "extensions": {"body": bytes(MAX_BYTES + 1) if is_long else request.body, "respond": self.respond},
        }


def gateway_of_request() -> Gateway:
    return Gateway(Calls(in_request=True))


def answer_check(request: HttpRequest) -> HttpResponse:
    application = CheckApplication(gateway_of_request())
    application.logs_access = False  # a middleware does it
    return answer(application, Exchange(request, **{"X-Request-Id": request_id.get()}))


@async_to_sync
async def answer(application: Callable[[Scope, Receive, Send], Awaitable[None]], exchange: Exchange) -> HttpResponse:
    token = on_calling_thread.set(True)
    try:
        await application(exchange.scope, exchange.receive, exchange.send)
    finally:
        on_calling_thread.reset(token)
    return exchange.response
