"""Questions of proxies that reach Django (licensing.access.event_loop.in_thread)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from licensing.access.event_loop.in_thread import Exchange, answer, gateway_of_request
from licensing.edge.application import ForwardApplication
from licensing.edge.original import is_question


class ProxyQuestions:
    """Middleware that answers proxies' questions, and passes on all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_question(request.path):
            return self.get_response(request)
        return answer(ForwardApplication(gateway_of_request()), Exchange(request))
