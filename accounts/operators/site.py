"""The admin's site. `@admin.register(Model)` puts a model on it, as everywhere in Django."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from unfold.sites import UnfoldAdminSite


class OperatorSite(UnfoldAdminSite):
    index_title = "Overview"
    empty_value_display = "–"

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # It would delete around the services, and collect everything that hangs on the rows before it asks.
        self.disable_action("delete_selected")

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Finds nothing: the sidebar shows no search, for unfold's keeps its results whatever one may see by then."""
        return HttpResponse()
