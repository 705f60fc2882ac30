"""Links within the admin."""

from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from msgspec import Struct


class Option(Struct, frozen=True):
    """One of the links of which a page shows the chosen one."""

    label: str
    link: str
    is_chosen: bool


def change_url(obj: Model) -> str:
    """Return the URL of an object's page."""
    return reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_change", args=[obj.pk])


def list_url(model: type[Model], **filters: str) -> str:
    """Return the URL of a filtered list: `list_url(ApiKey, account__id__exact=…)`."""
    query = f"?{urlencode(filters)}" if filters else ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist") + query


def link_to(obj: Model, text: object = None) -> SafeString:
    """Return a link to an object's page, by default with its name."""
    return text_link(change_url(obj), text or obj)


def text_link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def with_copy_button(text: str) -> SafeString:
    return format_html(
        '<span class="operators-id">{0}</span> '
        '<button type="button" class="operators-copy" data-copy="{0}" aria-label="Copy {0}">Copy</button>',
        text,
    )
