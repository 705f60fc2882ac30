"""Lists of resources: JSON pages, or files that are streamed after the view has returned."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.http.response import HttpResponseBase
from rest_framework.serializers import BaseSerializer
from rest_framework.viewsets import GenericViewSet

from kit.http.errors import InvalidRequest, NotFound
from kit.rest.export import CHUNK, chunks_after, columns_of, export, wanted_format, wants_bom
from kit.rest.filters import Index, OperatorFilter, OperatorFilterSet, StrictFilterBackend, given_filters
from kit.rest.lists.counting import CountMode, Total, count_rows, counting_of
from kit.rest.lists.windows import WindowedPagination
from kit.rest.pagination import KeysetPagination, parse_limit
from kit.rest.resources import columns_picked, find, pick_fields, requested_fields
from kit.storage.replica import Reading
from kit.values.json_values import Rendered

M = TypeVar("M", bound=Model)
Given = tuple[OperatorFilter, object]  # a filter of a request, with its value


class ListMixin(GenericViewSet[M]):
    """Answers a list with a page or a file. Class attributes name the actions of a viewset that are lists."""

    listing: ClassVar[frozenset[str]] = frozenset({"list"})  # actions that return a page
    exportable: ClassVar[Mapping[str, str]] = {}  # actions that also return a file, with its name
    serializer_class: type[BaseSerializer[M]]
    filterset_class: type[OperatorFilterSet] | None = None
    filter_backends: tuple[type[StrictFilterBackend], ...] = (StrictFilterBackend,)
    pagination_class: type[KeysetPagination] | None = KeysetPagination

    def page(
        self, queryset: QuerySet[Any] | None = None, *, may_lag: bool = True, **context: object
    ) -> HttpResponseBase:
        """Return a page of the matching rows in `queryset` (default: the view's), or all of them as a file.

        With `may_lag` the file is read from the replica, if there is one.
        """
        all_rows = self.get_queryset() if queryset is None else queryset
        rows = self.filtered(all_rows)
        name = self.exportable.get(self.action)
        file_format = "json"
        if name:
            file_format = wanted_format(self.request.query_params, self.request.headers.get("Accept", ""))
        has_bom = wants_bom(self.request.query_params, file_format)
        paginator = self.pager(all_rows)
        fields = self.fields_to_show()

        render = self.row_renderer(context)

        def show(some: Iterable[M]) -> list[Rendered]:
            return [pick_fields(one, fields) for one in render(some)]

        if name and file_format != "json":
            # A file contains every match. Clients send their default `limit` and `count` with every list, and those
            # must not truncate a file; nobody sends a cursor by accident.
            parse_limit(self.request.query_params.get("limit"))
            counting_of(self.request.query_params)
            if "cursor" in self.request.query_params:
                raise InvalidRequest("A file has everything that matches: it takes no cursor.", param="cursor")
            last = self.last_received(all_rows)
            reading = Reading(may_lag=may_lag)
            chunks = chunks_after(last, reading, paginator.following(rows, self.request, CHUNK), show)
            columns = columns_picked(columns_of(self.serializer_class), fields)
            is_whole = last is None
            return export(
                self.request, file_format, name, columns, chunks, reading, has_head=is_whole, has_bom=has_bom
            )
        if "after" in self.request.query_params:
            raise InvalidRequest("after is for files (format=csv or format=jsonl). Use cursor.", param="after")
        return paginator.page(rows, self.request, show, self.total)

    def hidden_fields(self) -> frozenset[str]:
        """Return the fields that the caller may not see."""
        return frozenset()

    def fields_to_show(self) -> frozenset[str] | None:
        """Return the fields of the reply, or None for all. Raises InvalidRequest if the query names an unknown one."""
        query, hidden = self.request.query_params, self.hidden_fields()
        if "fields" not in query and not hidden:
            return None
        return requested_fields(query, self.serializer_class, hidden)

    def pager(self, all_rows: QuerySet[M]) -> KeysetPagination:
        """Return the pagination of the filtered rows."""
        paginator = (self.pagination_class or KeysetPagination)()
        if isinstance(paginator, WindowedPagination) and self.filterset_class and connection.vendor == "postgresql":
            given = list(given_filters(self.filterset_class, self.request.query_params))
            _, order = paginator.order(self.request)
            indexed = [one for one in given if self.is_in_order(*one)]
            sorting = [one for one in given if one in indexed or one[0].field_name == order.field]
            if len(sorting) == len(given):
                paginator.is_in_order = len(indexed) < 2  # the database chooses one of two indexes by statistics
            elif all(one.index is not Index.FINDS for one, _ in given):
                paginator.every, paginator.is_indexed = self.apply(sorting, all_rows), bool(indexed)
        return paginator

    def is_in_order(self, one: OperatorFilter, value: object) -> bool:
        """Return whether an index has the rows that match this filter in the list's order."""
        return one.index is Index.SORTS

    def apply(self, given: Iterable[Given], rows: QuerySet[M]) -> QuerySet[M]:
        """Return the rows that match these filters."""
        for one, value in given:
            rows = one.filter(rows, value)
        return rows

    def last_received(self, rows: QuerySet[M]) -> M | None:
        """Return the row after which a file continues (`after`), or None. Raises InvalidRequest."""
        id = self.request.query_params.get("after")
        if id is None:
            return None
        try:
            return self.row_of(rows, id)
        except NotFound as error:
            raise InvalidRequest(f"{error.message} Export the file from its beginning.", param="after") from None

    def row_of(self, rows: QuerySet[M], id: str) -> M:
        """Return the row whose `id` in the API is this. Raises NotFound."""
        return find(rows, id)

    def filtered(self, rows: QuerySet[M]) -> QuerySet[M]:
        """Return the rows that match the query. Raises InvalidRequest."""
        return self.filter_queryset(rows) if self.filterset_class else rows

    def total(self, rows: QuerySet[M], counting: CountMode) -> Total:
        """Count all matching rows, not only this page."""
        return count_rows(rows, counting.seconds)

    def row_renderer(self, context: dict[str, object]) -> Callable[[Iterable[M]], Sequence[Rendered]]:
        """Return the function that turns rows into what the API shows.

        Exports call it after the view has returned, when `self.request` is gone.
        """
        serializer_class = self.serializer_class

        def render(rows: Iterable[M]) -> list[Rendered]:
            serializer = serializer_class(context=dict(context))  # its caches last for one page or chunk
            return [serializer.to_representation(row) for row in rows]

        return render
