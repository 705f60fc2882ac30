"""The limit of pages outside /v1, for each client's address or operator's session."""

from collections.abc import Callable
from hashlib import blake2b

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.limits.limiter import is_api, limiter
from accounts.limits.windows import MINUTE, Hit, Window, address_bucket
from kit.http.error_pages import error_page
from kit.http.errors import RateLimitExceeded
from kit.http.headers import get_client_address
from licensing.edge.publishing.documents import DOCUMENTS

OPERATOR_FACTOR = 10  # multiple of the anonymous limit
MAX_SESSIONS = 1_000
UNLIMITED_PATHS = frozenset({"/livez", "/readyz", "/metrics"})

Handler = Callable[[HttpRequest], HttpResponse]


class PageLimitMiddleware:
    """Limits requests per address outside /v1: the front page, the reference, the admin with its login.

    Terms of sites are counted apart, so that whoever fetches them can still sign in. Static files are served earlier,
    and probes are exempt. A signed-in operator has a separate limit, ten times as large; this process recognises the
    session after its first page.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.sessions: dict[str, None] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api(request) or request.path in UNLIMITED_PATHS:
            return self.get_response(request)
        session = self.session_of(request)
        try:
            limiter.consume(self.page_hit(request, session)).check()
        except RateLimitExceeded as error:
            return HttpResponse(error_page(error), status=429, headers=error.headers)
        response = self.get_response(request)
        if response.status_code < 500:  # otherwise the session may be unreadable
            self.remember_session(request, session)
        return response

    @staticmethod
    def session_of(request: HttpRequest) -> str:
        """Return a digest of the session cookie; empty without one."""
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        return blake2b(cookie.encode(), digest_size=16).hexdigest() if cookie else ""

    def page_hit(self, request: HttpRequest, session: str) -> Hit:
        if session in self.sessions:
            return Hit(f"session:{session}", (Window(settings.PAGES_PER_MINUTE * OPERATOR_FACTOR, MINUTE),))
        address = address_bucket(get_client_address(request))
        kind = "terms" if request.path in DOCUMENTS else "pages"
        return Hit(f"{kind}:{address}", (Window(settings.PAGES_PER_MINUTE, MINUTE),))

    def remember_session(self, request: HttpRequest, session: str) -> None:
        """Remember an operator's session, or forget one that has ended."""
        user = getattr(request, "user", None) if session else None
        if user is not None and user.is_authenticated:
            if len(self.sessions) >= MAX_SESSIONS:
                self.sessions.clear()  # the next page of each restores it
            self.sessions[session] = None
        else:
            self.sessions.pop(session, None)
