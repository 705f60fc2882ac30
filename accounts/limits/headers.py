"""Limits around every request: `X-RateLimit-*` under /v1, errors of every kind included; a bound on other pages."""

from collections.abc import Callable
from hashlib import blake2b

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.limits.limiter import limiter
from accounts.limits.throttling import bucket_of_address, consume_of, headers_of, limit_of_uncounted, refuse_beyond
from accounts.limits.windows import MINUTE, Consume, LimitState, Window
from kit.http.error_pages import page_of
from kit.http.errors import RateLimitExceeded, error_response
from kit.http.middleware import client_address_of

FOR_OPERATORS = 10  # times what a stranger may
MOST_SESSIONS = 1_000
FREE = frozenset({"/livez", "/readyz", "/metrics"})

Handler = Callable[[HttpRequest], HttpResponse]


def is_of_api(request: HttpRequest) -> bool:
    return request.path.startswith("/v1/") or request.path == "/v1"


class RateLimitHeadersMiddleware:
    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if is_of_api(request):
            state: LimitState | None = getattr(request, "limit_state", None)
            if state is None and not 400 <= response.status_code < 500:  # a failure of ours, or a browser's preflight
                state = limiter.consume(consume_of(None, client_address_of(request), cost=0))
            elif state is None:
                state = limit_of_uncounted(request)
                try:
                    refuse_beyond(state)
                except RateLimitExceeded as error:
                    response = error_response(error, request)
            for name, value in headers_of(state).items():
                response[name] = value
        return response


class PageLimitMiddleware:
    """Bounds what an address may ask for outside /v1: the front page, the reference, the admin with its login.

    Files are served before this, and probes are free. Who is signed in has a count of his own, and ten times as much;
    this process knows his session once it has served a page to it.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        self.sessions: dict[str, None] = {}

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_of_api(request) or request.path in FREE:
            return self.get_response(request)
        session = self.session_of(request)
        try:
            refuse_beyond(limiter.consume(self.consume_of(request, session)))
        except RateLimitExceeded as error:
            return HttpResponse(page_of(error), status=429, headers=error.headers)
        response = self.get_response(request)
        if response.status_code < 500:  # or the session cannot be read
            self.learn(request, session)
        return response

    @staticmethod
    def session_of(request: HttpRequest) -> str:
        """What stands for the session here; empty for none."""
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        return blake2b(cookie.encode(), digest_size=16).hexdigest() if cookie else ""

    def consume_of(self, request: HttpRequest, session: str) -> Consume:
        if session in self.sessions:
            return Consume(f"session:{session}", (Window(settings.PAGES_PER_MINUTE * FOR_OPERATORS, MINUTE),))
        address = bucket_of_address(client_address_of(request))
        return Consume(f"pages:{address}", (Window(settings.PAGES_PER_MINUTE, MINUTE),))

    def learn(self, request: HttpRequest, session: str) -> None:
        """Notes the session of an operator, and forgets one that has ended."""
        user = getattr(request, "user", None) if session else None
        if user is not None and user.is_authenticated:
            if len(self.sessions) >= MOST_SESSIONS:
                self.sessions.clear()  # each is learnt again by its next page
            self.sessions[session] = None
        else:
            self.sessions.pop(session, None)
