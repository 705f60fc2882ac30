"""The admin's site. `@admin.register(Model)` puts a model on it, as everywhere in Django."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from unfold.sites import UnfoldAdminSite

from accounts.operators.audited import password_changed
from accounts.operators.second_factor_page import second_factor_page


class OperatorSite(UnfoldAdminSite):
    index_title = "Overview"
    empty_value_display = "–"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # It would delete around the services, and collect everything that hangs on the rows before it asks.
        self.disable_action("delete_selected")

    def extra_urls(self) -> list[URLPattern]:
        """Pages that belong to no model; unfold puts them before the models' own."""
        return [
            path("two-factor/", self.admin_view(second_factor_page), {"site": self}, name="second_factor"),
        ]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if form is not None and form.is_bound:
            for error in form.errors.as_data().get(NON_FIELD_ERRORS, []):
                if error.code == "throttled":
                    response.status_code = 429
                    response["Retry-After"] = str(error.params["wait"])
        return response

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Finds nothing: the sidebar shows no search, for unfold's keeps its results whatever one may see by then."""
        return HttpResponse()

    @transaction.atomic
    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """One's own password; the audit log tells of it as of somebody else's."""
        response = super().password_change(request, extra_context)
        if request.method == "POST" and response.status_code == 302:  # another form is shown again
            password_changed(cast(User, request.user))
        return response
