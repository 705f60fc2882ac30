"""The page that shows a key's text: the reply to the very request that made the key, and nothing that is kept.

It is no redirect, so the text is never put anywhere on the way. The form that asks for a key carries a ticket with the
id that the key will have: sent again (a reload, a double click) it makes no second key.
"""

from typing import Any

from django import forms
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.cache import add_never_cache_headers

from accounts.models import ApiKey
from accounts.operators.links import change_url
from accounts.operators.pages import page
from config.api.ids import new_id

SALT = "accounts.operators.one_time"
TICKET_SECONDS = 24 * 3600


def new_ticket() -> str:
    return signing.dumps(new_id("key"), salt=SALT)


class TicketField(forms.CharField):
    """A hidden field; cleaned, it is the id for the new key."""

    widget = forms.HiddenInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(initial=new_ticket, **kwargs)

    def clean(self, value: Any) -> str:
        try:
            key_id: str = signing.loads(super().clean(value), salt=SALT, max_age=TICKET_SECONDS)
        except signing.BadSignature:
            raise forms.ValidationError("This form is too old. Open it again.") from None
        if ApiKey.objects.filter(pk=key_id).exists():
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
