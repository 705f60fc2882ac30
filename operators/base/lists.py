"""Lists of the admin: bounded, sorted by a column only if that is cheap, and with filters that operators save."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db import DataError
from django.db.models import Case, Model, QuerySet, Sum
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.functional import cached_property
from unfold.decorators import display
from unfold.views import ChangeList

from accounts.models import SavedFilter
from analytics.wallets.units import in_units
from operators.base.mixins import AdminMixin, ModelT
from operators.base.requests import signed_in
from operators.base.times import TO_MINUTE, shown_time

SAVE, FORGET = "_save_filters", "_forget_filters"  # button names
MAX_SAVED_FILTERS = 30  # per operator and list
MAX_NAME, MAX_QUERY = 60, 2_000
PAGE = "p"  # saved filters start on the first page


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


class SavedFilters(AdminMixin[ModelT]):
    """A mixin for ModelAdmins whose operators can save a list's filters."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        query = filter_query(request.GET)
        if request.method == "POST" and {SAVE, FORGET} & request.POST.keys():
            if not self.has_view_or_change_permission(request):
                raise PermissionDenied
            if FORGET in request.POST:
                self.saved_filters(request).filter(name=request.POST[FORGET].replace("\0", "")).delete()
            else:
                self.save_filter(request, query)
            return redirect(f"{request.path}?{query}" if query else request.path)
        saved = list(self.saved_filters(request))
        context = {
            "saved_filters": [(saved_filter, saved_filter.query == query) for saved_filter in saved],
            "can_save_filters": bool(query) and query not in {saved_filter.query for saved_filter in saved},
        }
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def saved_filters(self, request: HttpRequest) -> QuerySet[SavedFilter]:
        return SavedFilter.objects.filter(user=signed_in(request), listed=self.opts.label_lower).order_by("name")

    def save_filter(self, request: HttpRequest, query: str) -> None:
        """Save the page's filters under the given name."""
        name = request.POST.get("name", "").replace("\0", "").strip()[:MAX_NAME]
        if not name or not query or len(query) > MAX_QUERY:
            self.message_user(request, "Enter a name for the filters.", messages.WARNING)
        elif self.saved_filters(request).exclude(name=name).count() >= MAX_SAVED_FILTERS:
            self.message_user(
                request, f"At most {MAX_SAVED_FILTERS} can be saved here. Delete one first.", messages.WARNING
            )
        else:
            SavedFilter.objects.update_or_create(
                user=signed_in(request), listed=self.opts.label_lower, name=name, defaults={"query": query}
            )


def sums_in_words(rows: QuerySet[Model], amount: str | Case) -> list[str]:
    """Return the sum of an amount in each currency."""
    sums = rows.order_by().values("currency").annotate(total=Sum(amount)).order_by("currency")
    return [in_units(row["total"], row["currency"]) for row in sums]


def filter_query(query: QueryDict) -> str:
    """Return the query without the page number and without empty fields, which the filter form also sends."""
    kept_query = QueryDict(mutable=True)
    for name, values in query.lists():
        kept_query.setlist(name, [value for value in values if value and name != PAGE])
    return kept_query.urlencode()


Column = Callable[[Any, Any], str]  # receives the ModelAdmin and the row


def column(title: str, render: Callable[[Any], str], ordering: str | None = None) -> Column:
    """Return the column that shows what `render` returns for the row."""

    @display(description=title, ordering=ordering)
    def show(admin: object, row: object) -> str:
        return render(row)

    return show


def external_id_of(row: object) -> str:
    return getattr(row, "external_id", None) or "–"


def amount_column(title: str, field: str, ordering: str | None = None, sign: int = 1) -> Column:
    """Return the column of an amount in the row's currency. Null is 0."""

    def render(row: object) -> str:
        return in_units(sign * (getattr(row, field) or 0), getattr(row, "currency"))  # noqa: B009

    return column(title, render, ordering)


def time_column(title: str, field: str, style: str = TO_MINUTE, empty: str = "–") -> Column:
    def render(row: object) -> str:
        moment = getattr(row, field)
        return empty if moment is None else shown_time(moment, style)

    return column(title, render, field)
