"""Totals by currency above a list of the admin."""

from typing import ClassVar

from django.db.models import Case, Model, QuerySet, Sum
from django.http import HttpRequest, HttpResponse

from analytics.wallets.units import in_units
from operators.base.lists.change_list import BoundedChangeList
from operators.base.mixins import AdminMixin, ModelT


class TotalledList(AdminMixin[ModelT]):
    """A mixin for ModelAdmins whose list has totals by currency above it."""

    list_before_template = "operators/total.html"
    total_of: ClassVar[str]  # what is added up, such as "entries"
    newest_booking_first: ClassVar[bool] = True

    def shows_totals(self, request: HttpRequest) -> bool:
        return True

    def totals(self, changelist: BoundedChangeList) -> list[str]:
        """Return the sum of all listed rows in each currency."""
        raise NotImplementedError

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        context = getattr(response, "context_data", None) or {}
        if "cl" in context and self.shows_totals(request):
            changelist = context["cl"]
            context["totals"] = None if changelist.paginator.has_more else self.totals(changelist)
            context |= {"total_of": self.total_of, "newest": self.newest_booking_first}
        return response


def sums_in_words(rows: QuerySet[Model], amount: str | Case) -> list[str]:
    """Return the sum of an amount in each currency."""
    sums = rows.order_by().values("currency").annotate(total=Sum(amount)).order_by("currency")
    return [in_units(row["total"], row["currency"]) for row in sums]
