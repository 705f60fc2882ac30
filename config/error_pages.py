"""Django's error handlers: pages for browsers, API errors for everyone else and all of /v1."""

import sys

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from django.views import defaults

from config.pages import render_page
from kit.http.error_pages import error_answer, is_for_browser, nothing_at, unknown_host
from kit.http.error_replies import as_api_error, error_response
from kit.http.errors import ApiError, InternalError, ServiceUnavailable
from kit.storage.outage_causes import is_outage

if settings.ADMIN:
    from operators import error_pages as admin_pages

MAX_SHOWN_PATH = 200  # characters of a path


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        return error_answer(unknown_host(request.META.get("HTTP_HOST", "")), request)
    if settings.ADMIN and admin_pages.is_of_admin(request):
        return admin_pages.bad_request(request)
    return defaults.bad_request(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if settings.ADMIN and admin_pages.is_of_admin(request):
        return admin_pages.not_found(request, exception)
    if not is_for_browser(request.path, request.headers.get("Accept", "")):
        return error_response(nothing_at(request.path), request)
    response = render_page(request, "not_found.html", "", path=request.path[:MAX_SHOWN_PATH])
    response.status_code = 404
    patch_vary_headers(response, ["Accept"])
    return response


def failed(request: HttpRequest) -> HttpResponse:
    """Answer a server error without a template, because that may be what failed.

    While the database or the archive is down, answer 503. The outage is in the log once, not with a traceback for each
    request.
    """
    exc = sys.exc_info()[1]
    error: ApiError = InternalError("Something went wrong on our side. The request id names it in our log.")
    if isinstance(exc, ServiceUnavailable) or (isinstance(exc, Exception) and is_outage(exc)):
        error = as_api_error(exc)
    is_of_admin = settings.ADMIN and admin_pages.is_of_admin(request)
    if is_of_admin:
        response = admin_pages.failed(request, error)
    else:
        response = error_answer(error, request)
    response._has_been_logged = error.status_code != 500  # type: ignore[attr-defined] # read by django.utils.log
    return response
