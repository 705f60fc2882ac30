"""Find a leaked key. Its full text is sent by POST and appears in no URL, log, message, session or page."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST

from accounts.keys import keytext, services, states
from accounts.models import ApiKey
from operators.base.links import change_url, list_url
from operators.base.mixins import AdminMixin
from operators.base.scope import request_scope

FORM = "Find a leaked key"
IN_ADDRESS = (
    "The address that you opened contained an API key or a client’s secret. Browser history and proxy logs may keep "
    "it: rotate it."
)


class FindKey(AdminMixin[ApiKey]):
    """Adds the form to the list of keys."""

    list_before_template = "operators/access/find_key.html"

    def get_urls(self) -> list[URLPattern]:
        find = self.admin_site.admin_view(self.find_key)
        return [path("find/", find, name="accounts_apikey_find"), *super().get_urls()]

    @method_decorator(require_POST)
    @method_decorator(sensitive_post_parameters("key"))
    @method_decorator(sensitive_variables("text"))
    def find_key(self, request: HttpRequest) -> HttpResponse:
        """Redirect to the page of the key whose text was posted, or back to the list."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        text = keytext.key_within(request.POST.get("key", ""))
        key = services.find_key(self.get_queryset(request), text) if text else None
        if key is None:
            searched = "this installation" if request_scope(request).account_ids is None else "your accounts"
            self.message_user(request, f"No API key of {searched} has this text.", messages.WARNING)
            return redirect(list_url(ApiKey))
        state = states.state_of(key, timezone.now())
        what = "still works: rotate or revoke it" if state == states.State.ACTIVE else f"is {state.label.lower()}"
        self.message_user(request, f"The key is {key.name} ({key.prefix}…). It {what}.")
        return redirect(change_url(key))


def may_find(request: HttpRequest) -> bool:
    return request.user.has_perm("accounts.view_apikey")


def warning(request: HttpRequest) -> str | SafeString:
    """Return a warning for an operator who had a key in a URL."""
    if not may_find(request):
        return IN_ADDRESS
    link = format_html('<a class="underline" href="{}">{}</a>', list_url(ApiKey), FORM)
    return format_html("{} To see which key it is, use {}, which keeps no text.", IN_ADDRESS, link)


def drop_query(request: HttpRequest) -> HttpResponse:
    """Redirect to the same page without the query, which contains a secret."""
    if request.user.is_authenticated:
        messages.warning(request, warning(request))
    response = redirect(request.path)
    add_never_cache_headers(response)
    response["Referrer-Policy"] = "no-referrer"
    return response
