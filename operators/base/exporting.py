"""Export of a filtered and sorted list as CSV, with a byte order mark, by which Excel recognises UTF-8."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from rest_framework.request import Request
from unfold.decorators import action

from kit.rest.export import CHUNK, Row, chunks_after, columns_of, export
from kit.rest.heavy_mark import heavy
from kit.rest.serializers import StrictSerializer
from kit.storage.replica import Reading
from operators.base.links import list_url
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin

Following = Callable[[ModelT | None], list[ModelT]]  # returns the rows after one, or the first ones


def newest_first(rows: QuerySet[ModelT]) -> Following[ModelT]:
    ordered = rows.order_by("-pk")

    def following(last: ModelT | None) -> list[ModelT]:
        return list((ordered if last is None else ordered.filter(pk__lt=last.pk))[:CHUNK])

    return following


def rows_in_order(rows: QuerySet[ModelT], keys: Sequence[object]) -> Following[ModelT]:
    """Return rows in the order of their keys, of which there are few enough to sort them."""
    places = {key: place for place, key in enumerate(keys)}

    def following(last: ModelT | None) -> list[ModelT]:
        begin = 0 if last is None else places[last.pk] + 1
        chunk = keys[begin : begin + CHUNK]
        found = {row.pk: row for row in rows.filter(pk__in=chunk)}
        return [found[key] for key in chunk if key in found]

    return following


class ListExport(ScopedAdmin[ModelT]):
    """A list with `export_items` in its `actions_list`."""

    export_name: ClassVar[str]  # of the file
    export_serializer: ClassVar[type[StrictSerializer]]
    export_columns: ClassVar[Sequence[str]] = ()  # default: the serializer's
    filtered_actions: ClassVar[tuple[str, ...]] = ("/export/",)  # ends of the addresses of buttons
    export_related: ClassVar[tuple[str, ...]] = ()  # related rows that the export needs

    def export_rows(self, rows: list[ModelT]) -> list[Row]:
        serializer = self.export_serializer()
        return [serializer.to_representation(row) for row in rows]

    def columns_to_export(self, request: HttpRequest) -> list[str]:
        return list(self.export_columns) or columns_of(self.export_serializer)

    @heavy
    @action(description="Export", icon="download", permissions=["view"], url_path="export")
    def export_items(self, request: HttpRequest) -> HttpResponseBase:
        try:
            changelist = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(list_url(self.model))
        rows = changelist.queryset.select_related(None).order_by()
        if self.export_related:
            rows = rows.select_related(*self.export_related)
        following = rows_in_order(rows, changelist.sorted_keys()) if changelist.is_sorted else newest_first(rows)
        reading = Reading()
        chunks = chunks_after(None, reading, following, self.export_rows)
        columns = self.columns_to_export(request)
        return export(Request(request), "csv", self.export_name, columns, chunks, reading, has_bom=True)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        """Add the list's filters to the links of `filtered_actions`."""
        response = super().changelist_view(request, extra_context)
        for link in (getattr(response, "context_data", None) or {}).get("actions_list") or ():
            if request.GET and link["path"].endswith(self.filtered_actions):
                link["path"] += f"?{request.GET.urlencode()}"
        return response
