"""Pages of lists that may have millions of rows: nothing counts them, and no page lies deeper than people leaf."""

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.utils.functional import cached_property


class BoundedPaginator(Paginator):
    """Counts to MOST and no further. Past that a filter leads on, not the thousandth page."""

    object_list: QuerySet[Model]
    MOST = 10_000
    template_name = "operators/pagination.html"

    @cached_property
    def counted(self) -> int:
        # Without an order: the bound, not a sort, is what it should cost.
        return self.object_list.order_by()[: self.MOST + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.counted, self.MOST)

    @property
    def has_more(self) -> bool:
        return self.counted > self.MOST
