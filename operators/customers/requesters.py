"""Requesters: their decisions, licences and payments. Created by their first check or licence."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from unfold.decorators import display

from analytics.models import AccessEvent, LedgerEntry
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.empty_state import EmptyState
from operators.base.figures.latest_decisions import latest_decisions
from operators.base.figures.of_one import OfOne
from operators.base.figures.terms import standing_first
from operators.base.filters import RelatedFilter
from operators.base.links import list_url, with_copy_button
from operators.base.searching import find_requesters


@admin.register(Requester)
class RequesterAdmin(OfOne[Requester]):
    one = "requester"
    licenses_title = "Licences"
    no_licenses = "No licence was ever issued."
    empty_state = EmptyState(
        "A requester comes into being by asking for access, or by a licence.",
        "Issue a licence",
        "licensing_license_add",
        ("licensing.add_license",),
    )
    list_display = ("requester_id", "name", "account", "first_seen")
    list_select_related = ("account",)
    row_facts = {"name": "", "first_seen": "since"}
    groups = {"decisions": "Decisions"}
    list_filter = (("account", RelatedFilter),)
    search_fields = ("requester_id", "name")  # how: see operators.base.searching
    search_help_text = "The beginning of the requester's id, or words of the name by their beginnings."
    sortable_by = ("requester_id", "name", "first_seen")
    fields = readonly_fields = (
        "own_id", "name", "account", "first_seen", "decisions", "everything",
    )  # fmt: skip
    actions_detail = ("issue_license", "check_access")
    rights = {"decisions": "analytics.view_accessevent"}

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Requester], search_term: str
    ) -> tuple[QuerySet[Requester], bool]:
        return find_requesters(queryset, search_term), False

    def licenses_of(self, requester: Requester) -> QuerySet[License]:
        return standing_first(License.objects.filter(requester=requester).select_related("requester"))

    def license_fields(self, requester: Requester) -> dict[str, str]:
        return {"requester_own_id": requester.requester_id, "requester_name": requester.name or ""}

    def check_fields(self, requester: Requester) -> dict[str, str]:
        return {"requester": requester.requester_id}

    @display(description="Requester's own id")
    def own_id(self, requester: Requester) -> str:
        return with_copy_button(requester.requester_id)

    @display(description="First seen (UTC)", ordering="created")
    def first_seen(self, requester: Requester) -> str:
        return f"{requester.created:%Y-%m-%d %H:%M}"

    @display(description="Latest decisions")
    def decisions(self, requester: Requester) -> str:
        events = AccessEvent.objects.filter(requester=requester).order_by("-created")
        return latest_decisions(events.select_related("content"), "content")

    @display(description="All of them")
    def everything(self, requester: Requester) -> str:
        models = ((License, "Licences"), (AccessEvent, "Decisions"), (LedgerEntry, "Ledger"))
        rows = ((list_url(model, requester__id__exact=str(requester.pk)), name) for model, name in models)
        return format_html_join(" · ", '<a class="text-link" href="{}">{}</a>', rows)
