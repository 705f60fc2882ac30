"""`X-RateLimit-*` on every response under /v1, errors of every kind included (contract §1)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from accounts import throttling


class RateLimitHeadersMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith("/v1/") or request.path == "/v1":
            state = getattr(request, "limit_state", None)
            if state is None:
                # Whose limit it is takes a query; a failure is no time for one.
                known = response.status_code < 500
                state = throttling.peek(request) if known else throttling.take(request, None, cost=0)
            response["X-RateLimit-Limit"] = str(state.limit)
            response["X-RateLimit-Remaining"] = str(state.remaining)
            response["X-RateLimit-Reset"] = str(state.reset)
        return response
