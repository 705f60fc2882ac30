"""`X-RateLimit-*` on every response under /v1, errors of every kind included (contract §1)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from accounts.limits import limiter
from accounts.throttling import headers_of, peek, take_of


class RateLimitHeadersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith("/v1/") or request.path == "/v1":
            state = getattr(request, "limit_state", None)
            if state is None:
                # Whose limit it is takes a query; a failure is no time for one.
                address = request.client_address  # type: ignore[attr-defined]
                failed = response.status_code >= 500
                state = limiter.take(take_of(None, address, cost=0)) if failed else peek(request)
            for name, value in headers_of(state).items():
                response[name] = value
        return response
