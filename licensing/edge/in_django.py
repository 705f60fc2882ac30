"""Questions of proxies that reach Django: under `manage.py runserver`, and from Django's test client.

`manage.py serve` answers them on its event loop, before Django (config.asgi). Here nothing is cached, so that what the
request's own transaction has changed holds. Background work ends with the reply: keys of signers are never fetched.
"""

from collections.abc import Callable

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from kit.storage.microbatch import on_calling_thread
from licensing.access.event_loop.calls import Calls
from licensing.access.event_loop.gateway import Gateway
from licensing.access.event_loop.in_thread import Exchange
from licensing.edge.application import ForwardApplication
from licensing.edge.original import is_question


class ProxyQuestions:
    """Middleware that answers proxies' questions, and passes on all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_question(request.path):
            return self.get_response(request)
        gateway = Gateway(Calls(on_loop=False))
        gateway.callers.limits = None
        return async_to_sync(answer)(ForwardApplication(gateway), Exchange(request))


async def answer(application: ForwardApplication, exchange: Exchange) -> HttpResponse:
    token = on_calling_thread.set(True)
    try:
        await application(exchange.scope, exchange.receive, exchange.send)
    finally:
        on_calling_thread.reset(token)
    return exchange.response
