"""Suggestions for a licence's form, and a preview of its effects."""

from typing import ClassVar

from django.core.exceptions import PermissionDenied
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from licensing.licenses.models import License
from operators.base.fields import SuggestingInput
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import request_scope
from operators.base.suggesting import Kind, SuggestingAdmin, offered_ids
from operators.licenses.question import known_types, preview


class LicenseFormHelp(SuggestingAdmin[License], ScopedAdmin[License]):
    change_form_after_template = "operators/customers/license_form.html"
    suggested: ClassVar = {
        "requester_own_id": Kind.CUSTOMER,
        "content_ids": Kind.ITEM,
        "tags": Kind.TAG,
        "policy_ids": Kind.POLICY,
    }

    class Media:
        js: ClassVar = ("operators/preview.js",)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.preview))
        return [path("preview/", view, name="licensing_license_preview"), *super().get_urls()]

    def get_form(
        self, request: HttpRequest, obj: License | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        if "license_type" in form.base_fields:
            form.base_fields["license_type"].widget = SuggestingInput(
                lambda: known_types([obj.account_id] if obj is not None else offered_ids(request))
            )
        return form

    def form_context(self, request: HttpRequest, form: ModelForm, obj: License | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if obj is None or self.has_change_permission(request, obj):
            held = f"?license={obj.pk}" if obj is not None else ""
            context["preview_address"] = f"{reverse('admin:licensing_license_preview')}{held}"
        return context

    def preview(self, request: HttpRequest) -> HttpResponse:
        """Return an HTML fragment that previews saving the form; empty until an account is chosen."""
        if not (self.has_add_permission(request) or self.has_change_permission(request)):
            raise PermissionDenied
        held = self.found(request, request.GET["license"]) if "license" in request.GET else None
        account = held.account if held is not None else request_scope(request).account(request.POST.get("account", ""))
        if account is None:
            return HttpResponse("")
        shown = preview(account, held, request.POST)
        return TemplateResponse(request, "operators/customers/license_preview.html", {"preview": shown})
