"""Middleware of the admin: address, Content-Security-Policy, time zone, actor."""

from collections.abc import Callable

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils import timezone

from accounts.auditing.audit import operator_actor
from accounts.keys import keytext
from kit.actors import SYSTEM, acting_as, current_actor
from kit.http.content_security import content_security_policy
from kit.http.error_pages import error_page
from kit.http.error_replies import as_api_error
from kit.statement_timeout import was_ended
from operators.access.key_pages import drop_query
from operators.base.links import viewer
from operators.login.session_end import ADMIN_PATH
from operators.staff.time_zone import operator_zone

Handler = Callable[[HttpRequest], HttpResponse]

# unfold writes its colours as inline styles.
CONTENT_SECURITY_POLICY = content_security_policy({"style-src": "'self' 'unsafe-inline'"})


class AdminMiddleware:
    """Serves the admin only at ADMIN_HOST and ADMIN_PORT, if set, and adds its headers."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(ADMIN_PATH):
            return self.get_response(request)
        if not self.serves_admin_at(request):
            raise Http404
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")
        response.headers.setdefault("Cache-Control", "no-store")  # Django's password pages set none
        return response

    @staticmethod
    def serves_admin_at(request: HttpRequest) -> bool:
        # The socket's own port, not the one in the Host header.
        if settings.ADMIN_PORT and request.META.get("SERVER_PORT") != str(settings.ADMIN_PORT):
            return False
        return not settings.ADMIN_HOST or split_domain_port(request.get_host())[0] == settings.ADMIN_HOST


class TimeZoneMiddleware:
    """Activates the operator's time zone, for requests to the admin only. The API's replies are in UTC."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(ADMIN_PATH) or not request.user.is_authenticated:
            return self.get_response(request)
        with timezone.override(operator_zone(request.user)):
            return self.get_response(request)


class OperatorMiddleware:
    """Makes the operator the actor in audit entries, and hides pages whose URL contains a key.

    Reads no session outside the admin.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting_as(SYSTEM):
            viewer.set(None)
            return self.get_response(request)

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> HttpResponse | None:
        match = request.resolver_match
        if match is None or match.app_name != "admin":
            return None
        if keytext.shows_secret(request.META.get("QUERY_STRING", "")) and match.url_name != "search":
            return drop_query(request)
        if request.user.is_authenticated:
            current_actor.set(operator_actor(request))
            viewer.set(request.user)
        return None

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return a message if a page took too long; other errors go to the error pages."""
        if not was_ended(exception):
            return None
        error = as_api_error(exception)
        return HttpResponse(error_page(error), status=error.status_code, headers=error.headers)
