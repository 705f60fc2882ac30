"""Rate limits around every request:

`X-RateLimit-*` headers under /v1, including errors, and a limit for other pages.
"""

from collections.abc import Callable
from hashlib import blake2b

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.limits.limiter import limiter
from accounts.limits.throttling import (
    address_bucket,
    build_consume,
    build_headers,
    count_unauthenticated,
    refuse_beyond,
)
from accounts.limits.windows import MINUTE, Consume, LimitState, Window
from kit.http.error_pages import error_page
from kit.http.errors import RateLimitExceeded, error_response
from kit.http.middleware import get_client_address

FOR_OPERATORS = 10  # multiple of the anonymous limit
MOST_SESSIONS = 1_000
FREE = frozenset({"/livez", "/readyz", "/metrics"})

Handler = Callable[[HttpRequest], HttpResponse]


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/v1/") or request.path == "/v1"


class RateLimitHeadersMiddleware:
    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_api(request) and "X-RateLimit-Limit" not in response:  # checks have counted themselves
            state: LimitState | None = getattr(request, "limit_state", None)
            if state is None and not 400 <= response.status_code < 500:  # a server error, or a browser's preflight
                state = limiter.consume(build_consume(None, get_client_address(request), cost=0))
            elif state is None:
                state = count_unauthenticated(request)
                try:
                    refuse_beyond(state)
                except RateLimitExceeded as error:
                    response = error_response(error, request)
            for name, value in build_headers(state).items():
                response[name] = value
        return response


class PageLimitMiddleware:
    """Limits requests per address outside /v1: the front page, the reference, the admin with its login.

    Static files are served earlier, and probes are exempt. A signed-in operator has a separate limit, ten times as
    large; this process recognises the session after its first page.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.sessions: dict[str, None] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api(request) or request.path in FREE:
            return self.get_response(request)
        session = self.session_of(request)
        try:
            refuse_beyond(limiter.consume(self.build_consume(request, session)))
        except RateLimitExceeded as error:
            return HttpResponse(error_page(error), status=429, headers=error.headers)
        response = self.get_response(request)
        if response.status_code < 500:  # otherwise the session may be unreadable
            self.learn(request, session)
        return response

    @staticmethod
    def session_of(request: HttpRequest) -> str:
        """Return a digest of the session cookie; empty without one."""
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        return blake2b(cookie.encode(), digest_size=16).hexdigest() if cookie else ""

    def build_consume(self, request: HttpRequest, session: str) -> Consume:
        if session in self.sessions:
            return Consume(f"session:{session}", (Window(settings.PAGES_PER_MINUTE * FOR_OPERATORS, MINUTE),))
        address = address_bucket(get_client_address(request))
        return Consume(f"pages:{address}", (Window(settings.PAGES_PER_MINUTE, MINUTE),))

    def learn(self, request: HttpRequest, session: str) -> None:
        """Remember an operator's session, or forget one that has ended."""
        user = getattr(request, "user", None) if session else None
        if user is not None and user.is_authenticated:
            if len(self.sessions) >= MOST_SESSIONS:
                self.sessions.clear()  # the next page of each restores it
            self.sessions[session] = None
        else:
            self.sessions.pop(session, None)
