"""Pages about keys: the only one that shows a new key's text, a search for a leaked one, and what a key was used for.

A key's text is stored nowhere. Its page is the direct reply to the request that created the key, without a redirect,
so the text is never stored in between. Submitting the form again creates no second key (operators.base.tickets). But a
double click aborts the first reply, the only one with the key, so the second reply shows it too: the text is derived
again from the form's ticket and the session key, and the service stores only its digest. Once a browser has shown the
page, or after SHOWN_AGAIN_FOR, it is not shown again.
"""

from collections.abc import Iterable
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import constant_time_compare
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST

from accounts.keys import keytext, services, states
from accounts.models import ActorType, ApiKey, AuditEntry
from analytics.models import AccessEvent
from operators.base import tickets
from operators.base.links import change_url, list_url
from operators.base.mixins import AdminMixin, ModelT
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import page
from operators.base.requests import admin_request
from operators.base.scope import request_scope
from operators.base.times import TO_SECOND, shown_time

SHOWN_AGAIN_FOR = timedelta(minutes=10)
SEEN_KEYS = "seen_keys"  # session entry with the ids of the newest keys that were shown
MAX_SITES = 20
FIND_KEY_TITLE = "Find a leaked key"
LEAK_WARNING = (
    "The address that you opened contained an API key or a client’s secret. Browser history and proxy logs may keep "
    "it: rotate it."
)
AUDIT_COLUMNS = ("pk", "created", "action", "resource_title", "address", "customer", "other_customer", "sealed")
MAX_LATEST = 5
MAX_SEARCHED = 5_000  # newest changes or decisions of the account to search, because neither has an index by key


class KeyTicketField(tickets.TicketField):
    """A ticket for a key, which is not accepted again."""

    def __init__(self) -> None:
        super().__init__(ApiKey)

    def clean(self, value: str) -> str:
        key_id = super().clean(value)
        if tickets.is_used(ApiKey, key_id):
            raise forms.ValidationError(
                "This form already created a key, which cannot be shown again. Open the form again to create another."
            )
        return key_id


def form_seed(request: HttpRequest) -> str:
    """Return the secret from which this form derives the text of its key or client secret."""
    return f"{request.session.session_key}:{request.POST.get('ticket', '')}"


def key_shown_again(request: HttpRequest, model_admin: "SecretAdmin[ApiKey]") -> HttpResponse | None:
    """Return the page of the key that this form just created in this session, unless it was seen."""
    key_id = tickets.read_ticket(request.POST.get("ticket", ""), ApiKey)
    key = model_admin.get_queryset(request).filter(pk=key_id).first() if key_id else None
    if (
        key is None
        or key.pk in request.session.get(SEEN_KEYS, [])
        or timezone.now() - key.created_at > SHOWN_AGAIN_FOR
    ):
        return None
    text = keytext.generate(key.type, form_seed(request))
    if not constant_time_compare(keytext.digest(text), bytes(key.digest)):
        return None
    return model_admin.show_secret(request, key, text, "The form was sent twice. Only one key was created.")


def note_seen(request: HttpRequest, key: ApiKey) -> None:
    request.session[SEEN_KEYS] = [*request.session.get(SEEN_KEYS, []), key.pk][-MAX_SITES:]


def show_once(
    request: HttpRequest, model_admin: AdminMixin[ModelT], owner: ModelT, text: str, *, title: str, **context: str
) -> HttpResponse:
    """Return a page with a secret of `owner`, without caching and Referer."""
    shown = {"key": owner, "text": text, "next": change_url(owner), **context}
    return keep_private(
        page(request, model_admin, "operators/one_time_key.html", title=title, original=owner, **shown)
    )


def keep_private(response: HttpResponse) -> HttpResponse:
    """Forbid caching and the Referer."""
    add_never_cache_headers(response)
    response["Referrer-Policy"] = "no-referrer"
    return response


class SecretAdmin(ServiceAdmin[ModelT]):
    """Objects with a secret, which is shown once when it is new."""

    shows_secret = True

    def secret_usage(self, obj: ModelT) -> str:
        raise NotImplementedError

    def response_add(self, request: HttpRequest, obj: ModelT, post_url_continue: str | None = None) -> HttpResponse:
        return self.show_secret(request, obj, admin_request(request).secret)

    def show_secret(self, request: HttpRequest, obj: ModelT, secret: str, note: str = "") -> HttpResponse:
        """Return the only page with the secret."""
        title = f"The secret of {getattr(obj, 'name', obj)}"
        usage = self.secret_usage(obj)
        return show_once(request, self, obj, secret, title=title, what="secret", usage=usage, note=note)


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
        state = states.key_state(key, timezone.now())
        what = "still works: rotate or revoke it" if state == states.State.ACTIVE else f"is {state.label.lower()}"
        self.message_user(request, f"The key is {key.name} ({key.prefix}…). It {what}.")
        return redirect(change_url(key))


def may_find_keys(request: HttpRequest) -> bool:
    return request.user.has_perm("accounts.view_apikey")


def drop_query(request: HttpRequest) -> HttpResponse:
    """Redirect to the same page without the query, which contains a secret, and warn the operator."""
    warning = LEAK_WARNING
    if may_find_keys(request):
        link = format_html('<a class="underline" href="{}">{}</a>', list_url(ApiKey), FIND_KEY_TITLE)
        warning = format_html("{} To see which key it is, use {}, which keeps no text.", LEAK_WARNING, link)
    if request.user.is_authenticated:
        messages.warning(request, warning)
    return keep_private(redirect(request.path))


def latest_changes(key: ApiKey) -> str:
    """List the newest changes made with the key, each with its client address."""
    entries = AuditEntry.objects.order_by("-created", "-id")
    newest = entries.filter(account_id=key.account_id)[:MAX_SEARCHED]
    made = entries.filter(pk__in=newest.values("pk"), actor_type=ActorType.KEY, actor_id=key.pk)
    shown = made.only(*AUDIT_COLUMNS)[:MAX_LATEST]
    texts = [(entry, f"{entry.action} {entry.resource_title} (from {entry.address or '–'})") for entry in shown]
    return render_links(texts, "changes")


def latest_decisions(key: ApiKey) -> str:
    """List the newest decisions requested with the key, each with its requester."""
    events = AccessEvent.objects.order_by("-created", "-pk")
    newest = events.filter(account_id=key.account_id)[:MAX_SEARCHED]
    made = events.filter(pk__in=newest.values("pk"), facts__keyId=key.pk).select_related("requester")[:MAX_LATEST]
    texts = [
        (event, f"{'allowed' if event.allowed else event.reason}: {event.requester.requester_id}") for event in made
    ]
    return render_links(texts, "decisions")


def render_links(rows: Iterable[tuple[AuditEntry | AccessEvent, str]], name: str) -> str:
    """Render each row as a link with its time, followed by text; `name` says what was searched if there are none."""
    lines = ((change_url(row), shown_time(row.created, TO_SECOND), text) for row, text in rows)
    links = format_html_join("", '<div><a class="text-link" href="{}">{}</a> {}</div>', lines)
    return links or format_html("none among the account’s latest {} {}", f"{MAX_SEARCHED:,}", name)
