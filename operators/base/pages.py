"""Pages of a ModelAdmin other than its list and form, and what a page shows while it has no data."""

from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from msgspec import Struct

from operators.base.links import change_url
from operators.base.mixins import AdminMixin, ModelT


def page(
    request: HttpRequest,
    model_admin: AdminMixin[ModelT],
    template: str,
    *,
    title: str,
    original: Model | None = None,
    **context: object,
) -> TemplateResponse:
    """Render the template within the site's frame; `original` is the page's object, if any. `back` leads to it."""
    framed = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "original": original,
        "title": title,
        "back": "" if original is None else change_url(original),
        **context,
    }
    return TemplateResponse(request, template, framed)


class EmptyState(Struct, frozen=True):
    """`text` says what will be here and where it comes from; `label` and `view` link to a page that creates it.

    Lists show their own add button beside it, if permitted.
    """

    text: str
    label: str = ""
    view: str = ""  # URL name in the admin
    permissions: tuple[str, ...] = ()  # needed to open it

    def render(self, request: HttpRequest) -> dict[str, str]:
        """Return the context of operators/empty.html, without the link for those who may not open it."""
        opens = self.view and request.user.has_perms(self.permissions)
        return {"text": self.text, "label": self.label, "link": reverse(f"admin:{self.view}") if opens else ""}
