"""Links within the admin."""

from contextvars import ContextVar
from urllib.parse import urlencode

from django.contrib.auth import get_permission_codename
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from msgspec import Struct

viewer: ContextVar[User | AnonymousUser | None] = ContextVar("viewer", default=None)  # the operator who sees the links


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


def may_open(model: type[Model]) -> bool:
    """Whether the operator may open the pages of the model's objects."""
    user, meta = viewer.get(), model._meta
    names = (f"{meta.app_label}.{get_permission_codename(action, meta)}" for action in ("view", "change"))
    return user is None or any(user.has_perm(name) for name in names)


def link_to(obj: Model, text: object = None) -> SafeString:
    """Return a link to an object's page, by default with its name; only the text to those who may not open it."""
    if not may_open(type(obj)):
        return format_html("{}", text or obj)
    return text_link(change_url(obj), text or obj)


def row_link(obj: Model) -> SafeString:
    """Return a table's link to an object's page; only its name to those who may not open it."""
    template = '<a href="{}">{}</a>' if may_open(type(obj)) else "{1}"
    return format_html(template, change_url(obj), obj)


def link_to_list(model: type[Model], text: str, **filters: str) -> SafeString:
    """Return a link to a filtered list; only the text to those who may not open it."""
    return text_link(list_url(model, **filters), text) if may_open(model) else format_html("{}", text)


def text_link(url: str, text: object) -> SafeString:
    return format_html('<a class="text-link" href="{}">{}</a>', url, text)


def with_copy_button(text: str) -> SafeString:
    return format_html(
        '<span class="operators-id">{0}</span> '
        '<button type="button" class="operators-copy" data-copy="{0}" aria-label="Copy {0}">Copy</button>',
        text,
    )
