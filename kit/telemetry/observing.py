"""Metrics and optional access log lines for requests that Django serves."""

import logging
import re
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter
from typing import Protocol

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import Histogram

from kit.http.error_pages import unknown_path
from kit.telemetry.metrics import Counter
from kit.telemetry.tracing import traced

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
REFUSALS = ("401", "403", "429", "503")
WAYS = ("gateway", "django")  # request paths: the event loop ("gateway") or a thread

access_log = logging.getLogger("access")

requests = Histogram(
    "licensing_http_request_duration_seconds",
    "Time to answer a request that Django served, from when its body was there; access checks on the event loop have"
    " a metric of their own.",
    ["method", "route", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
refused = Counter(
    "licensing_refused_requests",
    "Requests refused for want of a valid key (401), a permission (403), room in a limit (429) or a service (503).",
    way=WAYS,
    status=REFUSALS,
)
REFUSED_AT = {way: {int(status): refused.place(way, status) for status in REFUSALS} for way in WAYS}


@lru_cache(maxsize=1000)
def route_template(route: str) -> str:
    """Convert a Django route such as `v1/content/<str:id>`, or its regular expression, to `/v1/content/{id}`."""
    template = re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", r"{\1}", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", template).replace("^", "").replace("$", "")


def request_route(request: HttpRequest) -> str:
    """Return the template of a request's path. All unknown paths share one route, because anyone can invent them."""
    if request.path.startswith(settings.STATIC_URL):
        return "static"
    match = request.resolver_match
    return "unknown" if match is None or match.func is unknown_path else route_template(match.route)


class Caller(Protocol):
    """The sender of an authenticated request."""

    @property
    def account_id(self) -> str: ...
    @property
    def key_id(self) -> str: ...


def log_access(method: str, route: str, status: int, seconds: float, grant: Caller | None) -> None:
    """Log a request with its path template (without ids and query) and its key's id."""
    account = None if grant is None else grant.account_id
    key = None if grant is None else grant.key_id
    milliseconds = round(seconds * 1000, 2)
    access_log.info(
        "%s %s %d %.2f ms account=%s key=%s",
        *(method, route, status, milliseconds, account or "-", key or "-"),
        extra={
            "fields": {
                "method": method,
                "route": route,
                "status": status,
                "duration_ms": milliseconds,
                "account": account,
                "key": key,
            }
        },
    )


class ObservationMiddleware:
    """Counts and times every request. Runs inside RequestMiddleware, so that log lines have the id."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    @traced(role="request in Django")
    def __call__(self, request: HttpRequest) -> HttpResponse:
        # config.asgi records when the request was complete; waiting for a thread counts as serving time.
        begun = request.META.get("asgi.scope", {}).get("complete_at") or perf_counter()
        response = self.get_response(request)
        seconds = perf_counter() - begun
        method = request.method if request.method in METHODS else "other"
        route = request_route(request)
        status = response.status_code
        requests.labels(method, route, f"{status // 100}xx").observe(seconds)
        if status in REFUSED_AT["django"]:
            refused.add(REFUSED_AT["django"][status])
        if settings.ACCESS_LOG:
            log_access(str(method), route, status, seconds, getattr(request, "auth", None))
        return response
