"""Filters of lists that operators save."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect

from accounts.models import SavedFilter
from operators.base.mixins import AdminMixin, ModelT
from operators.base.requests import signed_in

SAVE, FORGET = "_save_filters", "_forget_filters"  # button names
MAX_SAVED_FILTERS = 30  # per operator and list
MAX_NAME, MAX_QUERY = 60, 2_000
PAGE = "p"  # saved filters start on the first page


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


def filter_query(query: QueryDict) -> str:
    """Return the query without the page number and without empty fields, which the filter form also sends."""
    kept_query = QueryDict(mutable=True)
    for name, values in query.lists():
        kept_query.setlist(name, [value for value in values if value and name != PAGE])
    return kept_query.urlencode()
