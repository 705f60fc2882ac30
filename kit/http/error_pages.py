"""HTML error pages, for browsers outside /v1."""

from html import escape

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers

from kit.http.errors import ApiError, error_response

TITLES = {
    400: "The request cannot be read",
    413: "Too large",
    429: "Too many requests",
    500: "This did not work",
}


def is_for_browser(path: str, accept: str) -> bool:
    """Whether to answer an error with a page. Everything under /v1 is JSON."""
    return "text/html" in accept and path != "/v1" and not path.startswith("/v1/")


def error_answer(error: ApiError, request: HttpRequest) -> HttpResponse:
    """Return the error as a page for browsers, otherwise as JSON."""
    if not is_for_browser(request.path, request.headers.get("Accept", "")):
        return error_response(error, request)
    response = HttpResponse(error_page(error), status=error.status_code, headers=error.headers)
    patch_vary_headers(response, ["Accept"])
    return response


def error_page(error: ApiError) -> bytes:
    """Render a minimal HTML error page without the template engine."""
    title = TITLES.get(error.status_code, "Not now")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{escape(error.message)}</p></html>\n"
    ).encode()
