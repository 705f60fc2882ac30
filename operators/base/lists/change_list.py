"""Lists of the admin: bounded, and sorted by a column only if that is cheap."""

from collections.abc import Mapping

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.db import DataError
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.views import ChangeList

from operators.base.lists.paging import BoundedPaginator


class BoundedChangeList(ChangeList):
    """Show "n of all" only if filtered, and sort only if all matches can be counted.

    Few columns have an index to sort by, and paging is bounded (operators.base.lists.paging).
    """

    unsorted = ""  # why the list is not sorted by the column
    empty_state: Mapping[str, str] | None = None  # set if the list is empty
    is_narrowed = False  # to the chosen account

    @property
    def is_sorted(self) -> bool:
        return bool(self.params.get(ORDER_VAR)) and not self.unsorted

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet:
        rows = super().get_queryset(request, exclude_parameters)
        self.unsorted = self.why_unsorted(rows) if self.params.get(ORDER_VAR) else ""
        return rows.order_by(*self.model_admin.get_ordering(request)) if self.unsorted else rows

    def why_unsorted(self, rows: QuerySet) -> str:
        """Return why these rows cannot be sorted by a column; empty if they can."""
        most = BoundedPaginator.MOST
        if rows.order_by()[: most + 1].count() > most:
            return f"More than {most:,} match, newest first. Narrow the filters to sort them."
        return ""

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
        except (ValueError, DataError) as error:  # such as an invalid id
            raise IncorrectLookupParameters(error) from error
        is_whole = not self.query and not self.has_active_filters
        # If the two differ, the head shows the number of results, which is too low if there are more.
        if is_whole or self.paginator.has_more:
            self.full_result_count = self.result_count
