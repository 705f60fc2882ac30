"""Paging for lists with millions of rows: never counts all of them, and limits how deep pages go."""

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property


class BoundedPaginator(Paginator):
    """Counts up to MOST; beyond that, filters are the way to find a row."""

    object_list: QuerySet[Model]
    MOST = 10_000
    template_name = "operators/pagination.html"

    @cached_property
    def counted(self) -> int:
        # Without sorting, so that the limit bounds the cost.
        return self.object_list.order_by()[: self.MOST + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.counted, self.MOST)

    @property
    def has_more(self) -> bool:
        return self.counted > self.MOST
