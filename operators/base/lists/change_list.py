"""Lists of the admin: bounded, and sorted by a column only if that is cheap."""

from collections.abc import Mapping, Sequence

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList


class BoundedPaginator(Paginator):
    """Counts up to MAX_COUNT; beyond that, filters are the way to find a row."""

    object_list: QuerySet[Model]
    MAX_COUNT = 10_000
    template_name = "operators/pagination.html"

    @cached_property
    def counted(self) -> int:
        # Without sorting, so that the limit bounds the cost.
        return self.object_list.order_by()[: self.MAX_COUNT + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.counted, self.MAX_COUNT)

    @property
    def has_more(self) -> bool:
        return self.counted > self.MAX_COUNT


class BoundedChangeList(ChangeList):
    """Show "n of all" only if filtered, and sort only if all matches can be counted.

    Few columns have an index to sort by, and paging is bounded (BoundedPaginator).
    """

    queryset: QuerySet
    unsorted = ""  # why the list is not sorted by the column
    empty_state: Mapping[str, str] | None = None  # set if the list is empty
    is_narrowed = False  # to the chosen account

    @property
    def is_to_be_sorted(self) -> bool:
        return bool(self.params.get(ORDER_VAR))

    @property
    def is_sorted(self) -> bool:
        return self.is_to_be_sorted and not self.unsorted

    def sorted_keys(self) -> Sequence[object]:
        """Return the keys of all matches in the order of the list, if it is sorted."""
        return list(self.queryset.values_list("pk", flat=True))

    def why_unsorted(self) -> str:
        """Return why these rows cannot be sorted by a column; empty if they can."""
        if self.paginator.has_more:
            return f"More than {self.paginator.MAX_COUNT:,} match, newest first. Narrow the filters to sort them."
        return ""

    def get_results(self, request: HttpRequest) -> None:
        try:
            super().get_results(request)
            self.unsorted = self.why_unsorted() if self.is_to_be_sorted else ""
            if self.unsorted:
                self.queryset = self.queryset.order_by(*self.model_admin.get_ordering(request))
                super().get_results(request)
        except (ValueError, DataError) as error:  # such as an invalid id
            raise IncorrectLookupParameters(error) from error
        is_whole = not self.query and not self.has_active_filters
        # If the two differ, the head shows the number of results, which is too low if there are more.
        if is_whole or self.paginator.has_more:
            self.full_result_count = self.result_count
