"""The deprecation headers of replies, and the count of deprecated calls."""

from collections.abc import Collection

from django.conf import settings
from django.http import HttpResponse
from prometheus_client import Counter
from rest_framework.request import Request

from kit.http.deprecations import headers_for, used_deprecations

calls = Counter(
    "licensing_deprecated_calls",
    "Requests that use what is deprecated, by the account whose key they had.",
    ["deprecated", "account"],
)


def deprecation_headers(
    method: str, path: str, parameters: Collection[str], body: bytes, account: str | None
) -> dict[str, str]:
    """Return the deprecation headers for a request and count its call; empty if it uses nothing deprecated."""
    used = used_deprecations(settings.DEPRECATIONS, "GET" if method == "HEAD" else method, path, parameters, body)
    for deprecation in used:
        calls.labels(deprecation.name, account or "").inc()
    return headers_for(used) if used else {}


def add_deprecation_headers(request: Request, response: HttpResponse) -> None:
    """Add the deprecation headers to a DRF reply while the request's body is still available."""
    sent, grant = request._request, getattr(request, "_auth", None)  # None before authentication
    body, account = getattr(sent, "_body", b""), getattr(grant, "account_id", None)
    for name, value in deprecation_headers(str(sent.method), sent.path, sent.GET.keys(), body, account).items():
        response.headers[name] = value
