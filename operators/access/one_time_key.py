"""The page that shows a key's text: the reply to the very request that made the key, and nothing that is kept.

It is no redirect, so the text is never put anywhere on the way; sent again the form makes no second key
(operators.base.tickets).
"""

from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers

from accounts.models import ApiKey
from operators.base import tickets
from operators.base.frame import page
from operators.base.links import change_url


class TicketField(forms.CharField):
    """A hidden field; cleaned, it is the id for the new key."""

    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(initial=partial(tickets.new_ticket, ApiKey), **kwargs)

    def clean(self, value: Any) -> str:
        key_id = tickets.id_of(super().clean(value), ApiKey)
        if key_id is None:
            raise forms.ValidationError(tickets.TOO_OLD)
        if tickets.is_used(ApiKey, key_id):
            raise forms.ValidationError(
                "This form has made its key already, which cannot be shown again. Open it again to make another."
            )
        return key_id


def show_key(request: HttpRequest, model_admin: Any, key: ApiKey, text: str, note: str = "") -> HttpResponse:
    """The one page that has the key's text."""
    response = page(
        request,
        model_admin,
        "operators/one_time_key.html",
        title=f"Your new key: {key.name}",
        original=key,
        key=key,
        text=text,
        note=note,
        next=change_url(key),
    )
    add_never_cache_headers(response)
    response["Referrer-Policy"] = "no-referrer"
    return response
