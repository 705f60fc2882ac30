"""Suggestions for the fields of a licence's form, and a preview of what saving it would do."""

from copy import deepcopy
from typing import ClassVar

from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_GET, require_POST
from msgspec.structs import asdict

from licensing.licenses.models import License
from operators.base.fields import SuggestingInput
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import request_scope
from operators.customers.license_preview import preview
from operators.customers.license_question import known_types
from operators.customers.license_suggestions import LONGEST, SUGGESTED, account_of

MOST_ACCOUNTS = 200  # whose licence types are offered


def accounts_of(request: HttpRequest, held: License | None) -> list[str]:
    """The accounts whose licence types are suggested: the licence's own, or those that a new one can belong to."""
    if held is not None:
        return [held.account_id]
    return list(request_scope(request).accounts().values_list("pk", flat=True)[:MOST_ACCOUNTS])


class LicenseFormHelp(ScopedAdmin[License]):
    change_form_after_template = "operators/customers/license_form.html"

    class Media:
        js: ClassVar = ("operators/suggest.js", "operators/preview.js")

    def get_urls(self) -> list[URLPattern]:
        views = {"suggest": require_GET(self.suggest), "preview": require_POST(self.preview)}
        own = [
            path(f"{name}/", self.admin_site.admin_view(view), name=f"licensing_license_{name}")
            for name, view in views.items()
        ]
        return [*own, *super().get_urls()]

    def get_form(
        self, request: HttpRequest, obj: License | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        if "license_type" in form.base_fields:
            form.base_fields["license_type"].widget = SuggestingInput(lambda: known_types(accounts_of(request, obj)))
        told = {"data-suggest": reverse("admin:licensing_license_suggest")}
        if obj is not None:
            told["data-account"] = obj.account_id
        for name in SUGGESTED.keys() & form.base_fields.keys():
            field = deepcopy(form.base_fields[name])  # the class of the form has it too
            field.widget.attrs |= told
            form.base_fields[name] = field
        return form

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: License | None = None,
    ) -> HttpResponse:
        if obj is None or self.has_change_permission(request, obj):
            held = f"?license={obj.pk}" if obj is not None else ""
            context["preview_address"] = f"{reverse('admin:licensing_license_preview')}{held}"
        return super().render_change_form(request, context, add, change, form_url, obj)

    def check_may_write(self, request: HttpRequest) -> None:
        if not (self.has_add_permission(request) or self.has_change_permission(request)):
            raise PermissionDenied

    def suggest(self, request: HttpRequest) -> JsonResponse:
        self.check_may_write(request)
        account = account_of(request, request.GET.get("account", ""))
        suggesting = SUGGESTED.get(request.GET.get("field", ""))
        term = request.GET.get("term", "").strip()[:LONGEST]
        if account is None or suggesting is None or "\0" in term:
            return JsonResponse({"suggestions": []})
        return JsonResponse(
            {"suggestions": [asdict(one) for one in suggesting(self.admin_site, request, account, term)]}
        )

    def preview(self, request: HttpRequest) -> HttpResponse:
        """What saving the submitted form would do, as a piece of the page; nothing while no account is chosen."""
        self.check_may_write(request)
        held = self.found(request, request.GET["license"]) if "license" in request.GET else None
        account = held.account if held is not None else account_of(request, request.POST.get("account", ""))
        if account is None:
            return HttpResponse("")
        told = preview(account, held, request.POST)
        return TemplateResponse(request, "operators/customers/license_preview.html", {"preview": told})
