"""The only page that shows a new key's text, which is stored nowhere.

It is the direct reply to the request that created the key, without a redirect, so the text is never stored in between.
Submitting the form again creates no second key (operators.base.tickets). But a double click aborts the first reply,
the only one with the key, so the second reply shows it too: the text is derived again from the form's ticket and the
session key, and the service stores only its digest. Once a browser has shown the page, or after SHOWN_AGAIN_FOR, it is
not shown again.
"""

from datetime import timedelta

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import constant_time_compare

from accounts.keys import keytext
from accounts.models import ApiKey
from operators.base import tickets
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.mixins import AdminMixin, ModelT

SHOWN_AGAIN_FOR = timedelta(minutes=10)
SEEN = "seen_keys"  # session entry with the ids of the newest keys that were shown
MOST_SEEN = 20


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


def seed_of(request: HttpRequest) -> str:
    """Return the secret from which this form derives the text of its key or client secret."""
    return f"{request.session.session_key}:{request.POST.get('ticket', '')}"


def key_shown_again(request: HttpRequest, model_admin: AdminMixin[ApiKey]) -> HttpResponse | None:
    """Return the page of the key that this form just created in this session, unless it was seen."""
    key_id = tickets.id_of(request.POST.get("ticket", ""), ApiKey)
    key = model_admin.get_queryset(request).filter(pk=key_id).first() if key_id else None
    if key is None or key.pk in request.session.get(SEEN, []) or timezone.now() - key.created_at > SHOWN_AGAIN_FOR:
        return None
    text = keytext.generate(key.type, seed_of(request))
    if not constant_time_compare(keytext.digest(text), bytes(key.digest)):
        return None
    return show_key(request, model_admin, key, text, "The form was sent twice. Only one key was created.")


def note_seen(request: HttpRequest, key: ApiKey) -> None:
    request.session[SEEN] = [*request.session.get(SEEN, []), key.pk][-MOST_SEEN:]


def show_key(
    request: HttpRequest, model_admin: AdminMixin[ApiKey], key: ApiKey, text: str, note: str = ""
) -> HttpResponse:
    """Return the only page with the key's text."""
    seen = reverse("admin:accounts_apikey_seen", args=[key.pk])
    return show_once(request, model_admin, key, text, title=f"Your new key: {key.name}", note=note, seen=seen)


def show_once(
    request: HttpRequest, model_admin: AdminMixin[ModelT], owner: ModelT, text: str, *, title: str, **context: str
) -> HttpResponse:
    """Return a page with a secret of `owner`, without caching and Referer."""
    template = "operators/one_time_key.html"
    shown = {"key": owner, "text": text, "next": change_url(owner), **context}
    response = page(request, model_admin, template, title=title, original=owner, **shown)
    add_never_cache_headers(response)
    response["Referrer-Policy"] = "no-referrer"
    return response
