"""HTML error pages, for browsers outside /v1; and answers for unknown hosts and paths."""

import re
from collections.abc import Iterator
from functools import cache
from html import escape

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt

from kit.http.error_replies import error_response
from kit.http.errors import ApiError, InvalidRequest, NotFound
from kit.values.suggestions import did_you_mean

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


IS_ID = re.compile(r"[a-z]{2,5}_[0-9a-zA-Z]{10,}").fullmatch
MAX_PATH = 200  # characters of a path in an error
MAX_HOST = 100  # characters of a host in an error


def unknown_host(host: str) -> InvalidRequest:
    """Return the error for a host that ALLOWED_HOSTS does not include."""
    return InvalidRequest(f"Unknown host {host[:MAX_HOST]!r}. Add it to ALLOWED_HOSTS.", param="Host")


@csrf_exempt
def unknown_path(request: HttpRequest, rest: str | None = None) -> HttpResponse:
    """Return 404 for any path under /v1 without an endpoint, before asking for a key."""
    return error_response(nothing_at(request.path), request)


def nothing_at(path: str) -> NotFound:
    """Return the error for an unknown path, with the most similar path of the API if there is one."""
    hint = suggested_path(path) or " /docs/api/ lists all endpoints."
    return NotFound(f"There is nothing at {path[:MAX_PATH]}.{hint}")


def suggested_path(path: str) -> str:
    """Return " Did you mean `/v1/content/{id}`?", or nothing if no path is similar.

    Shows ids as `{id}`. Takes about a millisecond for paths of up to suggestions.MAX_TEXT characters.
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] != ["v1"]:
        parts = ["v1", *parts]
    named = ["{id}" if IS_ID(part) else part for part in parts]
    return did_you_mean("/" + "/".join(named), api_paths())


@cache
def api_paths() -> tuple[str, ...]:
    """Return all paths under /v1, with `{id}` for each parameter."""
    return tuple(sorted({path for path in routes(get_resolver()) if path.startswith("/v1/")}))


def routes(resolver: URLResolver, prefix: str = "/") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        path = prefix + re.sub(r"<[^>]+>", "{id}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, path)
        elif isinstance(pattern, URLPattern) and pattern.callback is not unknown_path:
            yield path
