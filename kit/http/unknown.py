"""Where nothing is."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from kit.http.errors import NotFound, error_response


@csrf_exempt
def unknown_path(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """Everything under /v1 that is no endpoint. The path is the first thing checked: no key is asked for."""
    return error_response(NotFound(f"There is nothing at {request.path}."), request)
