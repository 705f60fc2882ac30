"""Questions of proxies that reach Django: under `manage.py runserver`, and from Django's test client.

`manage.py serve` answers them on its event loop, before Django (config.asgi). Here nothing is cached, so that what the
request's own transaction has changed holds. Background work ends with the reply: keys of signers are never fetched.
"""

from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.db import connection
from django.http import HttpRequest, HttpResponse

from kit.http.bodies import Message, Scope
from kit.storage.microbatch import InThread, MicroBatch, on_calling_thread
from licensing.access.event_loop.blocking_calls import changes_now, find_grants_now, record_now, reserve_now
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.stock import Numbers
from licensing.edge.application import ForwardApplication
from licensing.edge.original import is_question


class ProxyQuestions:
    """Middleware that answers proxies' questions, and passes on all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_question(request.path):
            return self.get_response(request)
        return async_to_sync(answer)(ForwardApplication(make_gateway()), scope_of(request))


def make_gateway() -> Gateway:
    """Create a gateway that makes no calls on the event loop, because they would use other connections."""
    made = Gateway()
    if connection.vendor == "postgresql":
        made.write = InThread("recorder", record_now)
        made.facts.quick_lookups = None
        made.facts.numbers = Numbers(InThread("numbers", reserve_now))
        made.facts.changes = MicroBatch(InThread("changes", changes_now))
        made.callers.keys = MicroBatch(InThread("keys", find_grants_now))
        made.retries = None
    made.callers.limits = None
    return made


def scope_of(request: HttpRequest) -> Scope:
    """Return the request's head as ASGI has it."""
    meta = request.META
    return {
        "type": "http",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "query_string": meta.get("QUERY_STRING", "").encode("latin-1", "replace"),
        "headers": [
            (name.lower().encode(), value.encode("latin-1", "replace")) for name, value in request.headers.items()
        ],
        "client": (meta.get("REMOTE_ADDR", ""), 0),
        "server": (meta.get("SERVER_NAME", ""), meta.get("SERVER_PORT", "")),
    }


async def answer(application: ForwardApplication, scope: Scope) -> HttpResponse:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}  # no question has one

    async def send(message: Message) -> None:
        sent.append(message)

    token = on_calling_thread.set(True)
    try:
        await application(scope, receive, send)
    finally:
        on_calling_thread.reset(token)
    start, body = sent
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    return HttpResponse(body["body"], status=start["status"], headers=headers)
