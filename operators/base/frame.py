"""Pages of a ModelAdmin other than its list and form."""

from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse

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
    """Render the template within the site's frame; `original` is the page's object, if any."""
    framed = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "original": original,
        "title": title,
        **context,
    }
    return TemplateResponse(request, template, framed)
