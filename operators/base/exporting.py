"""A list as it is filtered, as CSV."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import action

from kit.rest.export import CHUNK, Row, export
from kit.rest.heavy import heavy
from operators.base.links import list_url


class ListExport:
    """A link of a list, for a ScopedAdmin with `export_items` among its `actions_list`."""

    export_name: ClassVar[str]  # of the file
    export_columns: ClassVar[Sequence[str]]

    def export_rows(self, rows: list[Any]) -> list[Row]:
        raise NotImplementedError

    def exported(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """What the rows need: by default nothing that the list shows of others."""
        return queryset.select_related(None)

    @heavy
    @action(description="Export", icon="download", permissions=["view"], url_path="export")
    def export_items(self, request: HttpRequest) -> Any:
        try:
            shown: Any = self.get_changelist_instance(request)  # type: ignore[attr-defined]
        except IncorrectLookupParameters:
            return redirect(list_url(self.model))  # type: ignore[attr-defined]
        request_: Any = request
        chunks = self.export_chunks(self.exported(shown.queryset))
        return export(request_, "csv", self.export_name, list(self.export_columns), chunks)

    def export_chunks(self, queryset: QuerySet[Any]) -> Iterator[list[Row]]:
        """Newest first; each chunk begins where the one before ended."""
        ordered, last = queryset.order_by("-pk"), None
        while rows := list((ordered if last is None else ordered.filter(pk__lt=last))[:CHUNK]):
            yield self.export_rows(rows)
            last = rows[-1].pk

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The link exports what the list shows."""
        response: Any = super().changelist_view(request, extra_context)  # type: ignore[misc]
        filters = request.GET.urlencode()
        for link in (getattr(response, "context_data", None) and response.context_data.get("actions_list")) or ():
            if filters and link["path"].endswith("/export/"):
                link["path"] += f"?{filters}"
        return response
