"""The admin's error pages."""

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults

from kit.http.errors import ApiError
from kit.http.headers import request_id
from operators.middleware import ADMIN_PATH, AdminMiddleware


def is_of_admin(request: HttpRequest) -> bool:
    return request.path.startswith(ADMIN_PATH) and AdminMiddleware.serves_admin_at(request)


def admin_error_page(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    context = {"title": title, "text": text, "request_id": request_id.get()}
    html = render_to_string("operators/error.html", {**admin.site.each_context(request), **context}, request)
    return HttpResponse(html, status=status)


def bad_request(request: HttpRequest) -> HttpResponse:
    return admin_error_page(request, 400, "Invalid address", "The request is not valid for this page.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if not is_of_admin(request):
        return defaults.permission_denied(request, exception)
    text = "Your role does not include this. A superuser can grant it, under Operators."
    return admin_error_page(request, 403, "You may not do this", text)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Show that nothing is at the admin's URL. Called by config.error_pages, which tests the path."""
    text = "It may have been deleted, or belong to an account that you cannot see."
    return admin_error_page(request, 404, "Not found", text)


def failed(request: HttpRequest, error: ApiError) -> HttpResponse:
    """Show an error without looking up the operator, because the database may have failed."""
    request.user = AnonymousUser()
    if error.status_code != 500:
        return admin_error_page(request, error.status_code, "Not now", f"{error.message} This is the request's id:")
    text = "Something went wrong on our side. Look whether it was saved before you try again. The request's id:"
    return admin_error_page(request, 500, "This did not work", text)


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    if not is_of_admin(request):
        return defaults.permission_denied(request, PermissionError(reason))
    text = "The form was opened before you signed in, or cookies are blocked. Open the page again and resubmit it."
    return admin_error_page(request, 403, "This form has expired", text)
