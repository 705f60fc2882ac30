"""When an operator's session ends: after its lifetime, or without the second factor."""

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from operators.login.second_factor import is_set_up
from operators.login.session_store import SECOND_FACTOR, SIGNED_IN_AT

ADMIN_PATH = "/admin/"


class AdminSessionMiddleware:
    """Ends sessions SESSION_COOKIE_AGE after login, and those without the second factor once one is set up.

    Django would extend a session with each change. Setting up a second factor deletes existing sessions; a login in
    progress creates its session afterwards and is caught here. Operators who must set up a second factor are
    redirected to its page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(ADMIN_PATH) and settings.SESSION_COOKIE_NAME in request.COOKIES:
            if request.user.is_authenticated and (self.is_too_old(request) or self.lacks_needed_factor(request)):
                logout(request)
            if settings.ADMIN_REQUIRE_TOTP and request.user.is_authenticated and self.must_set_up_factor(request):
                return HttpResponseRedirect(reverse("admin:second_factor"))
        return self.get_response(request)

    @staticmethod
    def is_too_old(request: HttpRequest) -> bool:
        return time.time() - request.session.get(SIGNED_IN_AT, 0) > settings.SESSION_COOKIE_AGE

    @staticmethod
    def lacks_needed_factor(request: HttpRequest) -> bool:
        """Whether the session began with the password only although the operator has a second factor."""
        return not request.session.get(SECOND_FACTOR) and is_set_up(request.user)

    @staticmethod
    def must_set_up_factor(request: HttpRequest) -> bool:
        exempt_paths = (reverse("admin:second_factor"), reverse("admin:logout"), reverse("admin:login"))
        return not request.session.get(SECOND_FACTOR) and request.path not in exempt_paths
