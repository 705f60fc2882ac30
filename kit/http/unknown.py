"""Answers for unknown paths."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from kit.http.errors import NotFound, error_response


@csrf_exempt
def unknown_path(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """Return 404 for any path under /v1 without an endpoint, before asking for a key."""
    return error_response(NotFound(f"There is nothing at {request.path}."), request)
