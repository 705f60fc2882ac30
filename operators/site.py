"""The admin's site, on which `@admin.register(Model)` registers models."""

from typing import cast

from django.contrib.auth.views import PasswordChangeView
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.functional import SimpleLazyObject
from unfold.sites import UnfoldAdminSite

from operators.base.requests import signed_in
from operators.base.scope import build_switch, chosen_account_only, switch_account
from operators.login.audit_entries import password_changed
from operators.login.known_browsers import remember_browser
from operators.login.limits import answer_too_many
from operators.login.second_factor_page import second_factor_page


class OperatorSite(UnfoldAdminSite):
    index_title = "Overview"
    empty_value_display = "–"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # It bypasses the services and loads every dependent row before asking.
        self.disable_action("delete_selected")

    def extra_urls(self) -> list[URLPattern]:
        """Return pages without a model; unfold puts them before the models' pages."""
        # Imported late: needs the models.
        from operators.navigation import pages_without_model  # noqa: PLC0415
        from operators.overview.revenue_file import revenue_file  # noqa: PLC0415
        from operators.staff.time_zone import time_zone_page  # noqa: PLC0415
        from operators.suggestions import suggest  # noqa: PLC0415

        return [
            *pages_without_model(self),
            path("revenue.csv", self.admin_view(revenue_file), name="revenue_file"),
            path("suggest/", self.admin_view(suggest), {"site": self}, name="suggest"),
            path("account/", self.admin_view(switch_account), {"site": self}, name="switch_account"),
            path("time-zone/", self.admin_view(time_zone_page), {"site": self}, name="time_zone"),
            path("two-factor/", self.admin_view(second_factor_page), {"site": self}, name="second_factor"),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, object]:
        """Add the account switch of the sidebar, evaluated only if shown."""
        return {**super().each_context(request), "account_switch": SimpleLazyObject(lambda: build_switch(request))}

    def autocomplete_view(self, request: HttpRequest) -> HttpResponse:
        with chosen_account_only(request):
            return super().autocomplete_view(request)

    def login(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response = super().login(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            remember_browser(request, response)
        return answer_too_many(response, shown_form(response))

    def search(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Return the results of Ctrl+K, without unfold's cache, which ignores changes of permissions."""
        # Imported late: needs the models.
        from operators.palette import find_anything  # noqa: PLC0415

        term = request.GET.get("s", "")
        with chosen_account_only(request):
            results = find_anything(self, request, term)
        return render(request, "operators/palette.html", {"term": term, "results": results})

    @transaction.atomic
    def password_change(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Change one's own password, with an audit entry. unfold's own view accepts no form class."""
        # Imported late: unfold's forms need the models.
        from operators.login.form import OwnPasswordForm  # noqa: PLC0415

        request.current_app = self.name
        view = PasswordChangeView.as_view(
            form_class=OwnPasswordForm,
            success_url=reverse("admin:password_change_done"),
            template_name="operators/own_password.html",
            extra_context={**self.each_context(request), **(extra_context or {})},
        )
        response = cast(HttpResponse, view(request))
        if request.method == "POST" and response.status_code == 302:  # otherwise the form is shown again
            password_changed(signed_in(request))
            remember_browser(request, response)
        return answer_too_many(response, shown_form(response))


def shown_form(response: HttpResponse) -> BaseForm | None:
    """Return a page's form before rendering."""
    form = (getattr(response, "context_data", None) or {}).get("form")
    return form if isinstance(form, BaseForm) else None
