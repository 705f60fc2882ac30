"""Where the admin answers, what its pages may load, when its sessions end, and whose the changes are."""

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse

from accounts.audit import operator
from config.api.actors import SYSTEM, acting_as, current_actor

Handler = Callable[[HttpRequest], HttpResponse]
ADMIN_PATH = "/admin/"

# Scripts come from files of this host alone. Styles may be inline: unfold writes its colours into the page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class AdminMiddleware:
    """A 404 for the admin anywhere but at ADMIN_HOST and ADMIN_PORT, where they are set; its headers on its pages."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(ADMIN_PATH):
            return self.get_response(request)
        if not self.is_here(request):
            raise Http404
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        return response

    @staticmethod
    def is_here(request: HttpRequest) -> bool:
        # The port is the socket's own, not what the Host header says.
        if settings.ADMIN_PORT and request.META.get("SERVER_PORT") != str(settings.ADMIN_PORT):
            return False
        host = request.get_host().rpartition(":")[0] if request.get_host()[-1:].isdigit() else request.get_host()
        return not settings.ADMIN_HOST or host.lower() == settings.ADMIN_HOST


class SessionAgeMiddleware:
    """Ends a session SESSION_COOKIE_AGE after its login; Django's own age begins anew with each change of it."""

    KEY = "signed_in_at"

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(ADMIN_PATH) and settings.SESSION_COOKIE_NAME in request.COOKIES:
            self.end_if_old(request)
        return self.get_response(request)

    def end_if_old(self, request: HttpRequest) -> None:
        if request.user.is_authenticated:
            since = request.session.setdefault(self.KEY, int(time.time()))
            if time.time() - since > settings.SESSION_COOKIE_AGE:
                logout(request)


class OperatorMiddleware:
    """Makes the operator the actor of what a request to the admin changes (accounts.audit).

    Elsewhere nobody's session is looked at.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting_as(SYSTEM):
            return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        match: Any = request.resolver_match
        if match.app_name == "admin" and request.user.is_authenticated:
            current_actor.set(operator(request))
